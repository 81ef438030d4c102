import Engine

/// Merges the changes that others have made to a table into the table that an import has built beside it, key
/// by key: see `docs/design.md`, "Pending tables".
///
/// Objects that only others have changed get their values. Objects that both have changed are decided by the
/// import's policy.
///
/// Memory: the numbers of the objects that others have changed, which are limited, and some hundred objects.
///
/// Thread rule: confined to the transaction's thread.
struct TableMerge {
  /// Changes that contradict each other.
  struct Refusal: Error {
    let reason: String
  }

  /// An object's spellings, in the order of the merged table's columns; nil for null.
  typealias Fields = [[UInt8]?]

  private let rule: ConflictRule
  /// The table as it was when the import began to build its own, and with the changes of others.
  private let before: Table
  private let theirs: Table
  /// The import's table.
  private let editor: TableEditor
  /// The objects whose keys the inputs have; nil: objects with other keys stay.
  private let seen: SeenObjects?
  private let shouldStop: () -> Bool
  /// The index of each of its columns in the other two tables, which have the same columns.
  private let places: [Int?]
  /// Columns to which the import has given a type that does not fit all values of others.
  private let retyped: Set<Int>
  /// The values of columns that are not given.
  private let defaults: Fields
  /// The column that orders records by age, and its order.
  private let age: (column: Int, order: SpellingOrder)?
  private(set) var outcome = MergeOutcome()

  /// The number of objects read at a time.
  private static let windowObjects = 256
  /// The maximum number of changes to merge.
  static let mostChanges = 1_000_000

  init(
    _ rule: ConflictRule, from before: Table, to theirs: Table, into editor: TableEditor,
    _ seen: SeenObjects?, shouldStop: @escaping () -> Bool
  ) {
    (self.rule, self.before, self.theirs) = (rule, before, theirs)
    self.shouldStop = shouldStop
    (self.editor, self.seen) = (editor, seen)
    let (schema, old) = (editor.schema, theirs.schema)
    var known: [UInt32: Int] = [:]
    for (place, id) in old.columnIDs.enumerated() { known[id] = place }
    places = schema.columnIDs.map { known[$0] }
    retyped = Set(
      schema.columns.indices.filter { column in
        guard let place = known[schema.columnIDs[column]] else { return false }
        let (new, old) = (schema.columns[column], old.columns[place])
        return new.type != .text && (new.type != old.type || new.notation != old.notation)
      })
    defaults = schema.defaults
    age = rule.newerThan.flatMap { schema.index(of: $0) }.map {
      ($0, SpellingOrder(schema.columns[$0].reading))
    }
  }

  /// Why no changes of others can be merged, whatever they are; nil when they can.
  static func obstacle(_ before: Table, _ theirs: Table, truncates: Bool) -> String? {
    if theirs.schema.keyColumns.isEmpty {
      return "it has no key by which the two could be merged"
    }
    if before.schema != theirs.schema || before.indexedColumns != theirs.indexedColumns {
      return "its columns, its key or its indexes are others now"
    }
    if truncates {
      return "an import with --truncate takes the place of all that is there, and is not merged"
    }
    return nil
  }

  /// Merges the changes.
  ///
  /// - Complexity: O(changes of others + the import's new objects with the same numbers as theirs).
  /// - Throws: `Refusal`; `EngineError`; `ImportError.interrupted`. The transaction must then be rolled back.
  mutating func run() throws {
    try checkWhole()
    try moveOwn()
    guard let found = try TableDifference(from: before, to: theirs, most: Self.mostChanges) else {
      throw Refusal(reason: "more than \(Self.mostChanges) objects were changed")
    }
    let keys = Set(theirs.schema.keyColumns.map { theirs.schema.columnIDs[$0] })
    var (gone, come) = (found.deleted.map(\.key), found.inserted.map(\.key))
    var pairs: [Pair] = []
    for change in found.modified {
      if found.columnSets[change.columnSet].contains(where: keys.contains) {
        gone.append(change.key)
        come.append(change.key)
      } else {
        pairs.append(Pair(before: change.key, theirs: change.key))
      }
    }
    let returned = try takeDeletions(gone.sorted())
    try takeChanges(pairs)
    try takeChanges(returned)
    let known = Set(returned.map(\.theirs))
    try takeInsertions(come.sorted().filter { !known.contains($0) })
  }

  /// An object by its numbers: in a table with a key, one that was deleted and added again is the same.
  private struct Pair {
    let before: Int64
    let theirs: Int64
  }

  /// Checks that no run with `truncate`, which this one continues, has emptied the table.
  private func checkWhole() throws {
    if before.count == 0 { return }
    var reader = ObjectReader(editor)
    guard try reader.go(toPosition: before.count - 1), let last = reader.key, last < before.nextKey
    else {
      throw Refusal(reason: "what was there is gone since a run with --truncate, and is not merged")
    }
  }

  // MARK: Numbers

  /// Gives new numbers to the import's objects whose numbers others have also assigned: a program may have
  /// kept such a number, and must not find another object under it.
  private func moveOwn() throws {
    // The import has deleted no existing objects, and its own have higher numbers.
    let given = before.nextKey..<max(before.nextKey, theirs.nextKey)
    // Each object is moved once: when the table was replaced, its next number was after all assigned ones.
    while true {
      try checkStop()
      var objects: [Int64] = []
      var reader = ObjectReader(editor)
      while objects.count < Self.windowObjects,
        try reader.go(toPosition: before.count + objects.count), let object = reader.key,
        given.contains(object)
      { objects.append(object) }
      if objects.isEmpty { return }
      let rows = try own(objects)
      for (object, _) in rows { _ = try editor.delete(object) }
      try append(rows.map(\.1))
    }
  }

  private func checkStop() throws {
    if shouldStop() { throw ImportError.interrupted }
  }

  // MARK: What they have done

  /// Deletes what others have deleted.
  ///
  /// - Returns: the objects that they have added again under another number.
  private mutating func takeDeletions(_ objects: [Int64]) throws -> [Pair] {
    var returned: [Pair] = []
    for window in Self.windows(objects) {
      try checkStop()
      let old = try rows(before, window)
      var wanted: [(object: Int64, fields: Fields)] = []
      for (object, fields) in old {
        let key = try key(fields, object)
        if let now = try theirs.object(forKeyBytes: key) {
          returned.append(Pair(before: object, theirs: now))
        } else if let mine = try editor.find(key) {
          wanted.append((mine, fields))
        }
      }
      wanted.sort { $0.object < $1.object }
      for ((object, own), (_, old)) in zip(try own(wanted.map(\.object)), wanted) {
        if own == old {
          if try editor.delete(object) { outcome.deleted += 1 }
        } else {
          // The record says that there is such an object.
          outcome.ofBoth += 1
          outcome.move(.updated, to: .imported)
        }
      }
    }
    return returned.sorted { $0.theirs < $1.theirs }
  }

  /// Changes what others have changed.
  ///
  /// - Parameter pairs: the objects, by their numbers.
  private mutating func takeChanges(_ pairs: [Pair]) throws {
    for start in stride(from: 0, to: pairs.count, by: Self.windowObjects) {
      try checkStop()
      let window = pairs[start..<min(pairs.count, start + Self.windowObjects)]
      var olds: [Int64: Fields] = [:]
      for (object, fields) in try rows(before, window.map(\.before).sorted()) {
        olds[object] = fields
      }
      var wanted: [(object: Int64, old: Fields, new: Fields)] = []
      var missing: [Fields] = []
      for (pair, (_, new)) in zip(window, try newRows(window.map(\.theirs))) {
        guard let old = olds[pair.before], old != new else { continue }
        if let mine = try editor.find(try key(new, pair.theirs)) {
          wanted.append((mine, old, new))
        } else {
          missing.append(new)
        }
      }
      wanted.sort { $0.object < $1.object }
      var changes = SpelledObjects()
      for ((object, own), (_, old, new)) in zip(try own(wanted.map(\.object)), wanted) {
        if let seen, object < before.nextKey, !seen.contains(object) {
          throw try refusal(new, "was changed, and no input has it")
        }
        let merged: Fields
        if own == old {
          merged = new
          outcome.changed += 1
        } else {
          merged = try decided(old, new, own)
        }
        if merged != own { try changes.add(merged, object) }
      }
      try changes.replace(editor)
      outcome.changed += missing.count
      try append(missing)
    }
  }

  /// Adds what others have added.
  private mutating func takeInsertions(_ objects: [Int64]) throws {
    for window in Self.windows(objects) {
      try checkStop()
      var added: [Fields] = []
      var wanted: [(object: Int64, fields: Fields)] = []
      for (object, fields) in try newRows(window) {
        if let mine = try editor.find(try key(fields, object)) {
          wanted.append((mine, fields))
        } else {
          added.append(fields)
        }
      }
      wanted.sort { $0.object < $1.object }
      var changes = SpelledObjects()
      for ((object, own), (_, new)) in zip(try own(wanted.map(\.object)), wanted) {
        let merged = try decided(new, own)
        if merged != own { try changes.add(merged, object) }
      }
      try changes.replace(editor)
      outcome.inserted += added.count
      try append(added)
    }
  }

  // MARK: What both have done

  /// The result for an object that both have changed: each field is taken from the side that has changed it,
  /// and from the record if both have.
  private mutating func decided(_ old: Fields, _ new: Fields, _ own: Fields) throws -> Fields {
    guard rule.policy == .update || rule.policy == .replace else {
      throw try refusal(new, "was changed")
    }
    outcome.ofBoth += 1
    if isOlder(own, than: new) {
      outcome.move(.updated, to: .skipped)
      return new
    }
    var merged = own
    if isByField {
      for column in own.indices where own[column] == old[column] { merged[column] = new[column] }
    }
    if merged == new { outcome.move(.updated, to: .unchanged) }
    return merged
  }

  /// The result for an object that both have added.
  private mutating func decided(_ new: Fields, _ own: Fields) throws -> Fields {
    outcome.ofBoth += 1
    if rule.policy == .error {
      throw try refusal(new, "was made, and the inputs have its key")
    }
    if rule.policy == .skip || isOlder(own, than: new) {
      outcome.move(.imported, to: .skipped)
      return new
    }
    var merged = own
    if isByField {
      // It is no longer known whether a record had this value or nothing.
      for column in own.indices where own[column] == nil || own[column] == defaults[column] {
        merged[column] = new[column]
      }
    }
    outcome.move(.imported, to: merged == new ? .unchanged : .updated)
    return merged
  }

  /// Whether a record does not say all of its object's fields, so that others' changes of the rest stay.
  private var isByField: Bool { rule.policy == .update || rule.ignoresBlanks }

  private func isOlder(_ own: Fields, than new: Fields) -> Bool {
    guard let age else { return false }
    return !Self.withBytes(own[age.column]) { own in
      Self.withBytes(new[age.column]) { age.order.isAbove(own, $0) }
    }
  }

  private static func withBytes<Result>(
    _ spelling: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result
  ) -> Result {
    guard let spelling else { return body(nil) }
    return spelling.withUnsafeBytes { body($0) }
  }

  // MARK: Reading and writing

  private static func windows(_ objects: [Int64]) -> some Sequence<[Int64]> {
    stride(from: 0, to: objects.count, by: windowObjects).lazy.map {
      Array(objects[$0..<min(objects.count, $0 + windowObjects)])
    }
  }

  private func key(_ fields: Fields, _ object: Int64) throws -> [UInt8] {
    KeyTuple.bytes(
      try editor.keyColumns.map { column in
        guard let part = fields[column] else {
          throw Refusal(reason: "object \(object) has no key")
        }
        return part
      })
  }

  private func refusal(_ fields: Fields, _ what: String) throws -> Refusal {
    let key = try key(fields, 0).withUnsafeBytes {
      KeyTuple.described($0, columns: editor.keyColumns.count, mostBytes: 100)
    }
    return Refusal(reason: "the object with the key '\(key)' \(what)")
  }

  /// Objects of one of the versions, with the columns of the merged table.
  ///
  /// - Parameter objects: ascending.
  private func rows(_ table: Table, _ objects: [Int64]) throws -> [(object: Int64, fields: Fields)]
  {
    var rows: [(Int64, Fields)] = []
    try ObjectSweep(table, columns: Array(table.columns.indices)).run(objects) { place, present in
      guard let present else {
        throw EngineError.noSuchObject(table: table.name, key: objects[place])
      }
      rows.append(
        (objects[place], places.map { $0.flatMap { present.field($0) }.map { Array($0) } }))
      return true
    }
    return rows
  }

  /// Objects with the changes of others, in the form for the merged table.
  ///
  /// - Parameter objects: ascending.
  private func newRows(_ objects: [Int64]) throws -> [(object: Int64, fields: Fields)] {
    let rows = try rows(theirs, objects)
    for column in retyped {
      guard let fields = rows.first(where: { $0.fields[column] != nil })?.fields else { continue }
      let name = editor.schema.columns[column].name
      throw try refusal(fields, "was changed, and column '\(name)' has another type here")
    }
    return rows
  }

  /// Those of some of the import's objects that exist.
  ///
  /// - Parameter objects: ascending.
  private func own(_ objects: [Int64]) throws -> [(Int64, Fields)] {
    var rows: [(Int64, Fields)] = []
    try ObjectSweep(editor, columns: Array(places.indices)).run(objects) { place, present in
      if let present {
        rows.append((objects[place], places.indices.map { present.field($0).map { Array($0) } }))
      }
      return true
    }
    return rows
  }

  private func append(_ rows: [Fields]) throws {
    var added = SpelledObjects()
    for row in rows { try added.add(row, 0) }
    try added.append(editor)
  }
}

/// The result of merging the changes of others into an import's table.
struct MergeOutcome {
  /// Changes that only others had made.
  var inserted = 0
  var changed = 0
  var deleted = 0
  /// Objects that both had added or changed, or one had deleted and the other changed.
  var ofBoth = 0
  /// Records that move from one count to another.
  private(set) var moves: [Move: Int] = [:]

  struct Move: Hashable {
    let from: RecordFate
    let to: RecordFate
  }

  mutating func move(_ from: RecordFate, to: RecordFate) {
    moves[Move(from: from, to: to), default: 0] += 1
  }
}

/// Objects given as spellings, to be written together.
private struct SpelledObjects {
  private var objects: [Int64] = []
  private var arena: [UInt8] = []
  private var spans: [TextSpan] = []

  mutating func add(_ fields: TableMerge.Fields, _ object: Int64) throws {
    objects.append(object)
    for field in fields {
      guard let field else {
        spans.append(.null)
        continue
      }
      guard let offset = UInt32(exactly: arena.count), offset != .max else {
        throw EngineError.tooLarge(what: "some hundred objects together", limit: "4 GB")
      }
      spans.append(TextSpan(offset: offset, length: UInt32(clamping: field.count)))
      arena += field
    }
  }

  private func withBytes(
    _ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<TextSpan>) throws -> Void
  ) rethrows {
    // A spare byte provides a pointer for the empty spelling.
    try (arena + [0]).withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { try body(arena, $0) }
    }
  }

  /// Adds the objects, with keys that the table lacks.
  func append(_ editor: TableEditor) throws {
    if objects.isEmpty { return }
    try withBytes {
      try editor.append(arena: $0, spans: $1, rowCount: objects.count, keysAreNew: true)
    }
  }

  /// Replaces the current objects with the same keys.
  func replace(_ editor: TableEditor) throws {
    if objects.isEmpty { return }
    let width = spans.count / objects.count
    try withBytes { arena, spans in
      guard let base = arena.baseAddress, let first = spans.baseAddress else { return }
      for (index, object) in objects.enumerated() {
        try editor.replace(object, base: base, row: first + index * width, keepsPrimaryKey: true)
      }
    }
  }
}
