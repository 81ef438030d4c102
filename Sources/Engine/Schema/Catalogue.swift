import Base

/// The root block of a version: every table with its schema, its tree, and related data.
///
///     0  1  kind, 'C'
///     1  1  form: 1 with a history, 2 with keys of several columns, 3 with both, else 0
///     2  2  zero
///     4  4  the number the next new table gets
///     8  4  number of tables
///     12 8  version of the schema, the programs' own number
///     20    tables: number 4 · name (length 4, UTF-8) · schema reference 24 ·
///           tree level 4 · tree entry 40 (first key, count, reference; zeros at level 0) ·
///           next key 8 · number of runs of the key's index 4 · runs of 52 (`IndexRun`) ·
///           number of secondary indexes 4 · indexes (`Index`) ·
///           number of notes 4 · notes: name (length 4, UTF-8), value (length 4, bytes)
///           with form 2 or 3: 1 when the table's key has several columns, else 0 (1 byte)
///           with form 1 or 3, behind the tables: reference to the history 24 · when the version
///           was made 8 · what made it (length 4, UTF-8)
package struct Catalogue: Sendable, Equatable {
  static let kind: UInt8 = 0x43

  package struct TableEntry: Sendable, Equatable {
    package var number: UInt32
    package var name: String
    package var schema: BlockReference
    package var root: TreeRoot
    /// The key of the next object; keys are never reused.
    package var nextKey: Int64
    /// The index of the primary key: runs in the order in which they were written.
    package var index: [IndexRun]
    /// The secondary indexes, by ascending number of their columns.
    package var valueIndexes: [Index]
    /// True when the primary key has several columns, as in the schema, but known without reading that.
    package var hasCompoundKey = false
    /// Small values stored with the table in the same transaction, such as an import's checkpoint.
    package var notes: [String: [UInt8]]

    package init(number: UInt32, name: String) {
      self.number = number
      self.name = name
      schema = BlockReference(offset: 0, length: 0, checksum: 0)
      root = .empty
      nextKey = 1
      index = []
      valueIndexes = []
      notes = [:]
    }

    /// True for a companion: see `companionName`.
    package var isCompanion: Bool { Catalogue.isReserved(name) }

    /// The runs of all indexes.
    package var allRuns: [IndexRun] { index + valueIndexes.flatMap(\.runs) }

    /// Makes the indexes read spellings as their columns do.
    ///
    /// - Throws: `DecodingFailure` when an index is not for a column of the schema, or for another type, or
    ///   the number of the key's columns contradicts the catalogue.
    package mutating func checkIndexes(_ schema: TableSchema) throws(DecodingFailure) {
      guard hasCompoundKey == (schema.keyColumns.count > 1) else {
        throw DecodingFailure(
          what: "the catalogue and the schema say different numbers of key columns", offset: 0)
      }
      for (number, index) in valueIndexes.enumerated() {
        guard let place = schema.columnIDs.firstIndex(of: index.column),
          schema.columns[place].type == index.code.type
        else {
          throw DecodingFailure(what: "a secondary index is of no column of the table", offset: 0)
        }
        valueIndexes[number].code = ValueCode(
          schema.columns[place].reading, secret: index.code.secret)
      }
    }
  }

  /// A secondary index.
  ///
  ///     number of its column 4 · type of the values 1 · zero 3 · secret of its codes 16 ·
  ///     number of runs 4 · runs of 52 (`IndexRun`)
  package struct Index: Sendable, Equatable {
    /// The column's permanent number.
    package var column: UInt32
    package var code: ValueCode
    /// The runs in the order in which they were written.
    package var runs: [IndexRun]

    package init(column: UInt32, _ code: ValueCode, runs: [IndexRun] = []) {
      self.column = column
      self.code = code
      self.runs = runs
    }

    fileprivate func encode(into writer: inout ByteWriter) {
      writer.append(column)
      writer.append(code.type.rawValue)
      writer.append([0, 0, 0])
      writer.append(code.secret.low)
      writer.append(code.secret.high)
      writer.append(UInt32(runs.count))
      for run in runs { run.encode(into: &writer) }
    }

    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
      column = try reader.read(UInt32.self, "column of an index")
      guard let type = ColumnType(rawValue: try reader.read(UInt8.self, "type of an index")) else {
        throw DecodingFailure(what: "unknown type of an index", offset: reader.offset)
      }
      _ = try reader.readBytes(3, "index")
      let low = try reader.read(UInt64.self, "secret of an index")
      let high = try reader.read(UInt64.self, "secret of an index")
      code = ValueCode(Reading(type), secret: KeyCode(low: low, high: high, bits: 0))
      runs = []
      for _ in 0..<(try reader.read(UInt32.self, "number of runs")) {
        runs.append(try IndexRun(from: &reader))
      }
    }
  }

  package var nextTableNumber: UInt32 = 1
  /// The version of the tables' schema, set by programs; see `Schema`.
  package var schemaVersion: UInt64 = 0
  /// The tables in the order of creation. The methods of `Catalogue+Lookup.swift` add, remove and rename
  /// tables.
  package internal(set) var tables: [TableEntry] = []
  /// The kept versions and their limit; nil when there are none.
  package var history: BlockReference?
  /// The origin of this version; written only with a history.
  package var origin = VersionOrigin()
  /// The tables' numbers by name.
  var numbers: [String: UInt32] = [:]

  /// The maximum number of objects of all tables together, so that counts and positions never overflow.
  package static let mostObjects: UInt64 = 1 << 48

  package init() {}

  // MARK: Companions

  /// Returns whether a name begins with a zero byte, like no name of a program's table.
  package static func isReserved(_ name: String) -> Bool { name.utf8.first == 0 }

  /// The name of a table that stores data for another one, by that table's number, which renaming does not
  /// change. Programs do not see such a table; checks, copies and counts of blocks do.
  package static func companionName(_ purpose: String, of number: UInt32) -> String {
    "\0\(purpose) of table \(number)"
  }

  /// Returns whether a name is that of a companion of the table with that number.
  static func isCompanion(_ name: String, of number: UInt32) -> Bool {
    isReserved(name) && name.hasSuffix(companionName("", of: number).dropFirst())
  }

  /// The name of a table that stores data for the file as a whole. Restoring an older version does not change
  /// it.
  package static func ownName(_ purpose: String) -> String { "\0\(purpose)\(ownEnding)" }
  private static let ownEnding = " of the file"

  /// Returns whether a name is that of a table that stores data for the file.
  static func isOwn(_ name: String) -> Bool { isReserved(name) && name.hasSuffix(ownEnding) }

  /// True when some table has a primary key of several columns.
  package var hasCompoundKeys: Bool { tables.contains(where: \.hasCompoundKey) }

  /// Returns whether a version with this catalogue must be marked as having keys of several columns. A
  /// version that it keeps, or a pending table, may have one even if its own tables have none; those
  /// catalogues are not read.
  ///
  /// - Parameter record: the previous version, whose kept versions stay kept.
  func hasCompoundKeys(after record: VersionRecord) -> Bool {
    hasCompoundKeys || history != nil && record.hasCompoundKeys
  }

  /// The tables of programs, oldest first.
  package var programTables: [TableEntry] { tables.filter { !$0.isCompanion } }

  package func encode() -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    writer.append(Self.kind)
    let hasCompoundKeys = hasCompoundKeys
    writer.append([(history == nil ? 0 : 1) | (hasCompoundKeys ? 2 : 0), 0, 0])
    writer.append(nextTableNumber)
    writer.append(UInt32(tables.count))
    writer.append(schemaVersion)
    for table in tables {
      writer.append(table.number)
      writer.append(table.name)
      table.schema.encode(into: &writer)
      writer.append(UInt32(table.root.level))
      writer.append(UInt64(bitPattern: table.root.entry.firstKey))
      writer.append(table.root.entry.count)
      table.root.entry.reference.encode(into: &writer)
      writer.append(UInt64(bitPattern: table.nextKey))
      writer.append(UInt32(table.index.count))
      for run in table.index { run.encode(into: &writer) }
      writer.append(UInt32(table.valueIndexes.count))
      for index in table.valueIndexes { index.encode(into: &writer) }
      writer.append(UInt32(table.notes.count))
      for (name, value) in table.notes.sorted(by: { $0.key < $1.key }) {
        writer.append(name)
        writer.append(UInt32(value.count))
        writer.append(value)
      }
      if hasCompoundKeys { writer.append(UInt8(table.hasCompoundKey ? 1 : 0)) }
    }
    if let history {
      history.encode(into: &writer)
      writer.append(UInt64(bitPattern: origin.secondsSince1970))
      writer.append(origin.what)
    }
    return writer.bytes
  }

  /// The catalogue as decoded from `encode()`.
  var asStored: Catalogue {
    var stored = self
    if history == nil { stored.origin = VersionOrigin() }
    for table in tables.indices where !tables[table].valueIndexes.isEmpty {
      for index in tables[table].valueIndexes.indices {
        let code = tables[table].valueIndexes[index].code
        stored.tables[table].valueIndexes[index].code = ValueCode(
          Reading(code.type),
          secret: KeyCode(low: code.secret.low, high: code.secret.high, bits: 0))
      }
    }
    return stored
  }

  package init(decoding bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
    var reader = ByteReader(bytes)
    guard try reader.read(UInt8.self, "kind") == Self.kind else {
      throw DecodingFailure(what: "it is not a catalogue", offset: 0)
    }
    let form = try reader.read(UInt8.self, "form of the catalogue")
    guard form <= 3 else {
      throw DecodingFailure(what: "the form of the catalogue is not known", offset: 1)
    }
    _ = try reader.readBytes(2, "catalogue")
    nextTableNumber = try reader.read(UInt32.self, "next table number")
    guard nextTableNumber > 0 else {
      throw DecodingFailure(what: "the number that the next table gets is 0", offset: 4)
    }
    let count = try reader.read(UInt32.self, "number of tables")
    schemaVersion = try reader.read(UInt64.self, "schema version")
    var known: Set<UInt32> = []
    var objects: UInt64 = 0
    for _ in 0..<count {
      let table = try Self.readTable(&reader, hasFlag: form & 2 != 0)
      guard numbers.updateValue(table.number, forKey: table.name) == nil else {
        throw DecodingFailure(what: "a table name stands twice", offset: reader.offset)
      }
      guard table.number < nextTableNumber, known.insert(table.number).inserted else {
        throw DecodingFailure(
          what: "the number of table '\(table.name)' is out of range, or another table's",
          offset: reader.offset)
      }
      // No table exceeds the limit, so the sum does not overflow before the check.
      objects += table.root.count
      guard objects <= Self.mostObjects else {
        throw DecodingFailure(what: "the tables have too many objects", offset: reader.offset)
      }
      tables.append(table)
    }
    guard (form & 2 != 0) == hasCompoundKeys else {
      throw DecodingFailure(what: "no table has a key of several columns", offset: 1)
    }
    if form & 1 != 0 {
      history = try BlockReference(from: &reader)
      origin.secondsSince1970 = Int64(
        bitPattern: try reader.read(UInt64.self, "time of the version"))
      origin.what = try reader.readText("what made the version")
    }
    guard reader.remaining == 0 else {
      throw DecodingFailure(what: "bytes are left over", offset: reader.offset)
    }
  }

  private static func readTable(
    _ reader: inout ByteReader, hasFlag: Bool
  ) throws(DecodingFailure) -> TableEntry {
    let number = try reader.read(UInt32.self, "table number")
    var table = TableEntry(number: number, name: try reader.readText("table name"))
    table.schema = try BlockReference(from: &reader)
    let level = try reader.read(UInt32.self, "tree level")
    guard level <= UInt32(Layout.maximumDepth) else {
      throw DecodingFailure(what: "the tree is too deep", offset: reader.offset)
    }
    let firstKey = Int64(bitPattern: try reader.read(UInt64.self, "first key"))
    let objects = try reader.read(UInt64.self, "object count")
    let reference = try BlockReference(from: &reader)
    table.root = TreeRoot(
      level: Int(level),
      entry: NodeEntry(firstKey: firstKey, count: objects, reference: reference))
    guard level > 0 || table.root == .empty else {
      throw DecodingFailure(what: "an empty tree has objects", offset: reader.offset)
    }
    table.nextKey = Int64(bitPattern: try reader.read(UInt64.self, "next key"))
    guard table.nextKey > 0 else {
      throw DecodingFailure(what: "the next key is \(table.nextKey)", offset: reader.offset)
    }
    // Keys are assigned from 1 on, each once.
    guard
      level == 0
        || (firstKey > 0 && firstKey < table.nextKey && objects > 0 && objects <= mostObjects
          && objects <= UInt64(table.nextKey - firstKey))
    else {
      throw DecodingFailure(
        what: "\(objects) objects from key \(firstKey) to the next key, \(table.nextKey), "
          + "are impossible", offset: reader.offset)
    }
    for _ in 0..<(try reader.read(UInt32.self, "number of runs")) {
      table.index.append(try IndexRun(from: &reader))
    }
    for _ in 0..<(try reader.read(UInt32.self, "number of indexes")) {
      let index = try Index(from: &reader)
      guard table.valueIndexes.last.map({ $0.column < index.column }) ?? true else {
        throw DecodingFailure(what: "secondary indexes are out of order", offset: reader.offset)
      }
      table.valueIndexes.append(index)
    }
    for _ in 0..<(try reader.read(UInt32.self, "number of notes")) {
      let name = try reader.readText("note name")
      let length = try reader.read(UInt32.self, "note length")
      table.notes[name] = Array(try reader.readBytes(Int(length), "note"))
    }
    if hasFlag {
      let flag = try reader.read(UInt8.self, "whether a key has several columns")
      guard flag <= 1 else {
        throw DecodingFailure(what: "the form of a key is not known", offset: reader.offset)
      }
      table.hasCompoundKey = flag == 1
    }
    return table
  }
}
