import Base

/// The difference of a table between two versions.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableStep: Sendable, Equatable, CustomStringConvertible {
  /// The table's name in the later version, or in the earlier one if it no longer exists.
  public let name: String
  /// The number of its objects in the earlier version; nil when it did not exist.
  public let before: Int?
  /// The number of its objects in the later version; nil when it no longer exists.
  public let after: Int?

  /// The difference in words.
  public var description: String {
    func objects(_ count: Int) -> String { "\(count) object\(count == 1 ? "" : "s")" }
    return switch (before, after) {
    case (nil, let after): "'\(name)' was created (\(objects(after ?? 0)))"
    case (let before?, nil): "'\(name)' was deleted (\(objects(before)))"
    case (let before?, let after?):
      before == after
        ? "'\(name)' was changed (\(objects(after)))"
        : "'\(name)' was changed (\(objects(before)) before, \(after) after)"
    }
  }
}

extension Catalogue {
  /// The tables of programs that differ, compared by their roots: a tree rewritten with the same objects
  /// counts as changed.
  ///
  /// - Parameters:
  ///   - later: the catalogue of the later version.
  ///   - ofObjectsAlone: whether to ignore tables that differ only in notes, such as those about imported
  ///     inputs.
  func steps(to later: Catalogue, ofObjectsAlone: Bool = false) -> [TableStep] {
    var steps: [TableStep] = []
    // Companions are few; tables may be many.
    let companions = tables.filter(\.isCompanion)
    let others = later.tables.filter(\.isCompanion)
    for table in later.programTables {
      let before = self.table(number: table.number)
      if let before,
        ofObjectsAlone
          ? before.name == table.name && Self.isSame(before, table)
          : !Self.isChanged(
            before, table, Self.companions(of: table.number, among: companions),
            Self.companions(of: table.number, among: others))
      {
        continue
      }
      steps.append(
        TableStep(
          name: table.name, before: before.map { Int(clamping: $0.root.count) },
          after: Int(clamping: table.root.count)))
    }
    for table in programTables where later.table(number: table.number) == nil {
      steps.append(
        TableStep(name: table.name, before: Int(clamping: table.root.count), after: nil))
    }
    return steps
  }

  static func isChanged(
    _ before: TableEntry, _ after: TableEntry, _ companions: [TableEntry], _ others: [TableEntry]
  ) -> Bool {
    if before.name != after.name || before.notes != after.notes { return true }
    guard companions.count == others.count, isSame(before, after) else { return true }
    return !zip(companions, others).allSatisfy { $0.name == $1.name && isSame($0, $1) }
  }

  /// True when two versions of a table have the same objects and columns. Blocks may have been moved.
  private static func isSame(_ left: TableEntry, _ right: TableEntry) -> Bool {
    func isSame(_ left: BlockReference, _ right: BlockReference) -> Bool {
      left.checksum == right.checksum && left.length == right.length
    }
    return left.root.level == right.root.level && left.root.count == right.root.count
      && left.root.entry.firstKey == right.root.entry.firstKey
      && isSame(left.root.entry.reference, right.root.entry.reference)
      && isSame(left.schema, right.schema)
      && left.valueIndexes.map(\.column) == right.valueIndexes.map(\.column)
  }

  /// The companions of a table, by name.
  func companions(of number: UInt32) -> [TableEntry] {
    Self.companions(of: number, among: tables)
  }

  private static func companions(of number: UInt32, among tables: [TableEntry]) -> [TableEntry] {
    tables.filter { isCompanion($0.name, of: number) }.sorted { $0.name < $1.name }
  }
}

/// Makes a kept version the newest again.
extension TransactionState {
  /// The catalogue of a kept version.
  ///
  /// - Throws: `EngineError.noSuchVersion`, `.damaged`.
  func catalogue(of version: UInt64) throws -> (record: VersionRecord, catalogue: Catalogue) {
    let history = try history()
    return try use {
      guard let place = history.place(of: version) else {
        throw EngineError.noSuchVersion(
          name: "\(version)", newest: base.version, kept: history.kept.map(\.record.version))
      }
      let record = history.kept[place].record
      return (record, try VersionRoots(record, parts.blocks).catalogue)
    }
  }

  /// Returns tables and their companions to their state in a kept version. The trees are adopted unchanged,
  /// so it costs a block or two. Keys and column numbers assigned since are not assigned again; of a table
  /// that was deleted since, those which the kept versions know.
  ///
  /// Call it before any other change, except to tables of the file itself, which stay; no other change may
  /// follow.
  ///
  /// - Parameter names: the names of the tables; nil: all tables, and the schema's version.
  /// - Throws: `EngineError.noSuchVersion`, `.noSuchTable`, `.tableExists`, `.damaged`.
  func restore(_ version: UInt64, tables names: [String]?) throws {
    let (record, old) = try catalogue(of: version)
    try use {
      // The editors of these tables work on the trees that are replaced.
      editors = editors.filter { Catalogue.isOwn($0.key) }
      if let names {
        for name in names { try restore(table: name, from: old, end: record.end) }
      } else {
        let numbers = Set(old.tables.map(\.number))
        for table in catalogue.tables.reversed()
        where !numbers.contains(table.number) && !Catalogue.isOwn(table.name) {
          if let place = catalogue.place(number: table.number) { catalogue.remove(at: place) }
        }
        for table in old.tables where !Catalogue.isOwn(table.name) {
          try put(table, end: record.end)
        }
        catalogue.schemaVersion = old.schemaVersion
      }
      noteVisibleChange()
      restoredEnd = max(restoredEnd ?? 0, record.end)
    }
  }

  private func restore(table name: String, from old: Catalogue, end: UInt64) throws {
    // By its name in that version, or by its current one.
    let then =
      old.programTable(name)
      ?? catalogue.programTable(name).flatMap { old.table(number: $0.number) }
    guard let number = then?.number ?? catalogue.programTable(name)?.number else {
      let known = Set(old.programTables.map(\.name) + catalogue.programTables.map(\.name))
      throw EngineError.noSuchTable(name: name, known: known.sorted())
    }
    if let now = catalogue.table(number: number) {
      for table in catalogue.companions(of: now.number) + (then == nil ? [now] : []) {
        if let place = catalogue.place(number: table.number) { catalogue.remove(at: place) }
      }
    }
    guard let then else { return }
    // Another table that has the name now.
    if let other = catalogue.programTable(then.name), other.number != number {
      guard catalogue.table(number: number) == nil else {
        throw EngineError.tableExists(name: then.name)
      }
      for table in catalogue.companions(of: other.number) + [other] {
        if let place = catalogue.place(number: table.number) { catalogue.remove(at: place) }
      }
    }
    for table in [then] + old.companions(of: number) { try put(table, end: end) }
  }

  /// Puts a table of a kept version into the catalogue, replacing the one with its number, if any.
  func put(_ table: Catalogue.TableEntry, end: UInt64) throws {
    var table = table
    if let place = catalogue.place(number: table.number) {
      let now = catalogue.tables[place]
      table.nextKey = max(table.nextKey, now.nextKey)
      table.schema = try schema(of: table, end: end, notBefore: now, end: base.end)
      catalogue.rename(at: place, to: table.name)
      catalogue.tables[place] = table
    } else {
      if let (last, lastEnd) = try lastKept(table.number) {
        table.nextKey = max(table.nextKey, last.nextKey)
        table.schema = try schema(of: table, end: end, notBefore: last, end: lastEnd)
      }
      catalogue.insert(table)
    }
  }

  /// A table that no longer exists, in the last kept version that has it.
  private func lastKept(
    _ number: UInt32
  ) throws -> (table: Catalogue.TableEntry, end: UInt64)? {
    for kept in try history().kept.reversed() {
      let catalogue = try VersionRoots(kept.record, parts.blocks).catalogue
      if let table = catalogue.table(number: number) { return (table, kept.record.end) }
    }
    return nil
  }

  /// A table's schema whose next column gets no number that was assigned since.
  private func schema(
    of table: Catalogue.TableEntry, end: UInt64, notBefore now: Catalogue.TableEntry,
    end laterEnd: UInt64
  ) throws -> BlockReference {
    if table.schema == now.schema { return table.schema }
    var schema = try TableSchema(decoding: try parts.blocks.block(table.schema, end: end))
    let later = try TableSchema(decoding: try parts.blocks.block(now.schema, end: laterEnd))
    guard later.nextColumnID > schema.nextColumnID else { return table.schema }
    schema.nextColumnID = later.nextColumnID
    return try writer.append(node: schema.encode())
  }
}
