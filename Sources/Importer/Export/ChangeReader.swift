import Engine

/// An object that differs between two versions of its table, with the spellings of its fields.
package struct ChangedObject {
  /// A field in both versions; nil for null.
  package struct Field {
    /// Its index in `ChangeReader.columns`.
    package let column: Int
    package let old: [UInt8]?
    package let new: [UInt8]?
  }

  package let kind: ObjectStep.Kind
  /// The spellings in the columns of its primary key; without a key, the object's number.
  package let key: [[UInt8]]
  /// The fields that differ; for an object that only one version has, all fields of that version.
  package let fields: [Field]
}

/// Reads the differences between two versions of a table, object by object, in the order of keys.
///
/// Memory: the keys that differ, and some hundred objects.
///
/// Thread rule: one thread at a time, while both versions are held.
package struct ChangeReader {
  /// A column of one of the versions, or of both. A column that has gone and one of the same name that has
  /// come are one, since their values are the same object's under one name.
  package struct ChangedColumn {
    /// Its name in the later version; no two have the same.
    package let name: String
    package let old: Column?
    package let new: Column?
    fileprivate let oldPlace: Int?
    fileprivate let newPlace: Int?
  }

  /// The columns of the later version, then those that only the earlier one has.
  package let columns: [ChangedColumn]
  /// The columns of the objects' keys; without a key, a column for their numbers.
  package let keyColumns: [Column]
  /// The indices of the primary key's columns, in its order.
  private let keyPlaces: [Int]
  private let old: Table?
  private let new: Table?
  private let filter: Predicate?

  /// The number of objects read at a time.
  private static let windowObjects = 256

  /// - Parameters:
  ///   - old: the table in the earlier version; nil for a table that was created.
  ///   - new: the table in the later version; nil for a table that was deleted.
  ///   - filter: only objects that match it in one of the versions; nil: all.
  package init(from old: Table?, to new: Table?, where filter: Predicate? = nil) {
    (self.old, self.new, self.filter) = (old, new, filter)
    columns = Self.columns(old?.schema, new?.schema)
    keyPlaces = Self.keyPlaces(columns, old?.schema, new?.schema)
    let found = keyPlaces.compactMap { [columns] in columns[$0].new ?? columns[$0].old }
    keyColumns = found.isEmpty ? [Column("key", .int)] : found
  }

  /// The later version's key; without one, the earlier version's, whose columns may have other names now.
  private static func keyPlaces(
    _ columns: [ChangedColumn], _ old: TableSchema?, _ new: TableSchema?
  ) -> [Int] {
    for (schema, place) in [(new, \ChangedColumn.newPlace), (old, \ChangedColumn.oldPlace)] {
      guard let schema, !schema.keyColumns.isEmpty else { continue }
      return schema.keyColumns.compactMap { key in
        columns.firstIndex { $0[keyPath: place] == key }
      }
    }
    return []
  }

  private static func columns(_ old: TableSchema?, _ new: TableSchema?) -> [ChangedColumn] {
    let (earlier, later) = (old?.columns ?? [], new?.columns ?? [])
    var places: [UInt32: Int] = [:]
    for (place, id) in (old?.columnIDs ?? []).enumerated() { places[id] = place }
    let stayed = (new?.columnIDs ?? []).map { places.removeValue(forKey: $0) }
    var gone: [String: Int] = [:]
    for place in places.values { gone[earlier[place].name] = place }
    var columns: [ChangedColumn] = []
    for (place, column) in later.enumerated() {
      let before = stayed[place] ?? gone.removeValue(forKey: column.name)
      columns.append(
        ChangedColumn(
          name: column.name, old: before.map { earlier[$0] }, new: column, oldPlace: before,
          newPlace: place))
    }
    var taken = Set(columns.map(\.name))
    for place in gone.values.sorted() {
      // Another column may have its name now.
      let (name, column) = (Column.unused(earlier[place].name, taken), earlier[place])
      taken.insert(name)
      columns.append(
        ChangedColumn(name: name, old: column, new: nil, oldPlace: place, newPlace: nil))
    }
    return columns
  }

  /// Whether a column has taken the place of another of the same name, so that objects whose values are the
  /// same differ in their columns.
  private var hasReplaced: Bool {
    guard let old = old?.schema, let new = new?.schema else { return false }
    return columns.contains { column in
      guard let before = column.oldPlace, let after = column.newPlace else { return false }
      return old.columnIDs[before] != new.columnIDs[after]
    }
  }

  /// The number of objects that `run` would report, of each kind.
  ///
  /// - Complexity: that of `Table.changeCounts`; that of `run` where a column has taken the place of another.
  /// - Throws: the errors of `Table.forEachChange`.
  package func counts() throws -> [ObjectStep.Kind: Int] {
    if let old, let new, !hasReplaced { return try new.changeCounts(since: old, where: filter) }
    if old != nil, new != nil {
      var counts: [ObjectStep.Kind: Int] = [:]
      try run { counts[$0.kind, default: 0] += 1 }
      return counts
    }
    guard let table = new ?? old else { return [:] }
    var query = Query()
    query.filter = filter
    return [new == nil ? .deleted : .inserted: try query.count(in: table)]
  }

  /// Checks that the filter fits the columns, without reading an object.
  ///
  /// - Throws: `QueryError`.
  package func checkFilter() throws {
    guard let filter else { return }
    if let old, let new { return try ChangedKeys.check(filter, old, new) }
    guard let table = new ?? old else { return }
    var query = Query()
    query.filter = filter
    _ = try ResultReader(query, table, readsColumns: false)
  }

  /// Calls `body` with every object that differs.
  ///
  /// - Complexity: that of `Table.forEachChange`.
  /// - Throws: the errors of `Table.forEachChange` and of `body`.
  package func run(_ body: (ChangedObject) throws -> Void) throws {
    guard let old, let new else { return try readLone(body) }
    var keys = try ChangedKeys(from: old, to: new, where: filter)
    let sweeps = (
      ObjectSweep(old, columns: Array(old.columns.indices)),
      ObjectSweep(new, columns: Array(new.columns.indices))
    )
    while true {
      let next = keys.next(Self.windowObjects)
      if next.isEmpty { return }
      let before = try Self.read(
        next.filter { $0.kind != .inserted }.map(\.before), sweeps.0, old)
      let after = try Self.read(next.filter { $0.kind != .deleted }.map(\.key), sweeps.1, new)
      for entry in next {
        let left = entry.kind == .inserted ? nil : before[entry.before]
        let right = entry.kind == .deleted ? nil : after[entry.key]
        let object = object(entry.kind, entry.key, left, right)
        // Its values are the same, in a column that has taken the place of another.
        if object.kind == .changed, object.fields.isEmpty { continue }
        try body(object)
      }
    }
  }

  private static func read(
    _ objects: [Int64], _ sweep: ObjectSweep, _ table: Table
  ) throws -> [Int64: [[UInt8]?]] {
    let objects = objects.sorted()
    var rows: [Int64: [[UInt8]?]] = [:]
    rows.reserveCapacity(objects.count)
    try sweep.run(objects) { place, fields in
      guard let fields else {
        throw EngineError.noSuchObject(table: table.name, key: objects[place])
      }
      rows[objects[place]] = table.columns.indices.map { fields.field($0).map { Array($0) } }
      return true
    }
    return rows
  }

  /// - Parameters:
  ///   - old: the fields in the earlier version; nil when it lacks the object.
  ///   - new: the fields in the later version; nil when it lacks the object.
  private func object(
    _ kind: ObjectStep.Kind, _ key: Int64, _ old: [[UInt8]?]?, _ new: [[UInt8]?]?
  ) -> ChangedObject {
    var fields: [ChangedObject.Field] = []
    var parts: [[UInt8]?] = keyPlaces.map { _ in nil }
    for (index, column) in columns.enumerated() {
      let before = column.oldPlace.flatMap { old?[$0] }
      let after = column.newPlace.flatMap { new?[$0] }
      if let part = keyPlaces.firstIndex(of: index) { parts[part] = after ?? before }
      if old == nil ? column.newPlace != nil : new == nil ? column.oldPlace != nil : before != after
      {
        fields.append(ChangedObject.Field(column: index, old: before, new: after))
      }
    }
    // The table may have got its key after the object was written.
    let name =
      parts.contains(nil) || parts.isEmpty ? [Array("\(key)".utf8)] : parts.compactMap(\.self)
    return ChangedObject(kind: kind, key: name, fields: fields)
  }

  /// Reads a table that only one version has.
  private func readLone(_ body: (ChangedObject) throws -> Void) throws {
    guard let table = new ?? old else { return }
    var query = Query()
    query.filter = filter
    let kind: ObjectStep.Kind = new == nil ? .deleted : .inserted
    try ResultReader(query, table).forEachWindow(withKeys: true) { window in
      for row in 0..<window.count {
        let fields = table.columns.indices.map { window.field(row, $0).map { Array($0) } }
        try body(
          object(
            kind, window.keys[row], kind == .deleted ? fields : nil,
            kind == .deleted ? nil : fields))
      }
    }
  }
}
