import Base

/// A table's schema as a block:
///
///     0  1  kind, 'S'
///     1  3  zero
///     4  4  the number the next new column gets
///     8  4  number of columns
///     12 4  the number of the key column; 0 without one, 2^32 - 1 when there are several
///     16 8  the first half of the secret of `KeyCode`
///     24 8  the second half
///     32 1  bits of a hash
///     33 3  zero
///     36    columns: number 4 · type 1 · flags 1 · name (length 4, UTF-8) ·
///           with a notation: number of its patterns 4, and each (length 4, UTF-8) ·
///           with a default: its spelling (length 4, bytes)
///           with several key columns: how many 4, and the number of each 4, in the key's order
///
/// Flags: 1 the column may be null, 2 it has a default, 4 it has a notation.
extension TableSchema {
  static let kind: UInt8 = 0x53
  /// Stored instead of a key column's number. It is never such a number, because the next column's number is
  /// at most this.
  private static let severalColumns = UInt32.max

  private struct Flags: OptionSet {
    let rawValue: UInt8

    static let isNullable = Flags(rawValue: 1)
    static let hasDefault = Flags(rawValue: 2)
    static let hasNotation = Flags(rawValue: 4)
    static let known: Flags = [.isNullable, .hasDefault, .hasNotation]
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter(capacity: 36 + columns.count * 24)
    writer.append(Self.kind)
    writer.append([0, 0, 0])
    writer.append(nextColumnID)
    writer.append(UInt32(columns.count))
    writer.append(
      keyColumns.count > 1 ? Self.severalColumns : keyColumns.first.map { columnIDs[$0] } ?? 0)
    writer.append(keyCode.low)
    writer.append(keyCode.high)
    writer.append(keyCode.bits)
    writer.append([0, 0, 0])
    for (column, identifier) in zip(columns, columnIDs) {
      var flags: Flags = column.isNullable ? .isNullable : []
      if column.default != nil { flags.insert(.hasDefault) }
      if column.notation != nil { flags.insert(.hasNotation) }
      writer.append(identifier)
      writer.append(column.type.rawValue)
      writer.append(flags.rawValue)
      writer.append(column.name)
      if let notation = column.notation {
        writer.append(UInt32(notation.patterns.count))
        for pattern in notation.patterns { writer.append(pattern) }
      }
      if let value = column.default {
        let spelling = column.stored(value).spelling
        writer.append(UInt32(spelling.count))
        writer.append(spelling)
      }
    }
    if keyColumns.count > 1 {
      writer.append(UInt32(keyColumns.count))
      for column in keyColumns { writer.append(columnIDs[column]) }
    }
    return writer.bytes
  }

  package init(decoding bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
    var reader = ByteReader(bytes)
    guard try reader.read(UInt8.self, "kind") == Self.kind else {
      throw DecodingFailure(what: "it is not a schema", offset: 0)
    }
    _ = try reader.readBytes(3, "schema")
    self.init(nextColumnID: try reader.read(UInt32.self, "next column number"))
    let count = try reader.read(UInt32.self, "number of columns")
    let key = try reader.read(UInt32.self, "the key column's number")
    let low = try reader.read(UInt64.self, "secret")
    let high = try reader.read(UInt64.self, "secret")
    let bits = try reader.read(UInt8.self, "bits of a hash")
    guard bits <= KeyCode.maximumBits else {
      throw DecodingFailure(what: "the bits of a hash", offset: 32)
    }
    keyCode = KeyCode(low: low, high: high, bits: bits)
    _ = try reader.readBytes(3, "schema")
    for index in 0..<Int(count) {
      let (identifier, column) = try Self.readColumn(&reader)
      guard indices.updateValue(index, forKey: column.name) == nil else {
        throw DecodingFailure(what: "a column name stands twice", offset: reader.offset)
      }
      guard identifier < nextColumnID, columnIDs.last ?? 0 < identifier else {
        throw DecodingFailure(what: "column numbers are out of order", offset: reader.offset)
      }
      columns.append(column)
      columnIDs.append(identifier)
    }
    let keys = try Self.readKey(&reader, key)
    guard reader.remaining == 0 else {
      throw DecodingFailure(what: "bytes are left over", offset: reader.offset)
    }
    for key in keys {
      guard let index = columnIDs.firstIndex(of: key), !columns[index].isNullable else {
        throw DecodingFailure(what: "the key is no column, or one that may be null", offset: 12)
      }
      guard !isInKey(index) else {
        throw DecodingFailure(what: "a column stands twice in the key", offset: reader.offset)
      }
      keyColumns.append(index)
    }
  }

  /// The numbers of the key's columns.
  ///
  /// - Parameter key: the stored number of the only key column, or `severalColumns`.
  private static func readKey(
    _ reader: inout ByteReader, _ key: UInt32
  ) throws(DecodingFailure) -> [UInt32] {
    if key == 0 { return [] }
    if key != severalColumns { return [key] }
    let count = try reader.read(UInt32.self, "number of key columns")
    guard count > 1, Int(count) <= reader.remaining / 4 else {
      throw DecodingFailure(what: "the number of key columns", offset: reader.offset)
    }
    var keys: [UInt32] = []
    for _ in 0..<count { keys.append(try reader.read(UInt32.self, "number of a key column")) }
    return keys
  }

  private static func readColumn(
    _ reader: inout ByteReader
  ) throws(DecodingFailure) -> (UInt32, Column) {
    let identifier = try reader.read(UInt32.self, "column number")
    guard let type = ColumnType(rawValue: try reader.read(UInt8.self, "column type")) else {
      throw DecodingFailure(what: "unknown column type", offset: reader.offset)
    }
    let flags = Flags(rawValue: try reader.read(UInt8.self, "column flags"))
    guard flags.isSubset(of: .known) else {
      throw DecodingFailure(what: "unknown column flags", offset: reader.offset)
    }
    let name = try reader.readText("column name")
    var column = Column(name, type, nullable: flags.contains(.isNullable))
    if flags.contains(.hasNotation) {
      column.notation = try readNotation(&reader, type)
    }
    if flags.contains(.hasDefault) {
      let length = try reader.read(UInt32.self, "length of a default")
      let spelling = try reader.readBytes(Int(length), "default")
      guard let value = Value(spelling: spelling, as: column.reading) else {
        throw DecodingFailure(what: "a default is not of its column's type", offset: reader.offset)
      }
      column.default = value
    }
    return (identifier, column)
  }

  private static func readNotation(
    _ reader: inout ByteReader, _ type: ColumnType
  ) throws(DecodingFailure) -> Notation {
    let count = try reader.read(UInt32.self, "number of a notation's patterns")
    guard count <= Notation.maximumPatterns else {
      throw DecodingFailure(what: "too many patterns of a notation", offset: reader.offset)
    }
    var patterns: [String] = []
    for _ in 0..<count { patterns.append(try reader.readText("pattern of a notation")) }
    do {
      return try Notation(type, patterns)
    } catch {
      throw DecodingFailure(what: "a notation is not of its column's type", offset: reader.offset)
    }
  }
}
