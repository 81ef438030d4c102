/// A column of a table: its name, the type of its values, and whether they may be null.
public struct Column: Sendable, Hashable {
  public var name: String
  public var type: ColumnType
  public var isNullable: Bool

  public init(_ name: String, _ type: ColumnType, nullable: Bool = true) {
    self.name = name
    self.type = type
    self.isNullable = nullable
  }
}

/// A table's columns with their permanent numbers.
///
///     schema block
///     0  1  kind, 'S'
///     1  3  zero
///     4  4  the number the next new column gets
///     8  4  number of columns
///     12 4  the number of the key column; 0 without one
///     16 8  the first half of the secret of `KeyCode`
///     24 8  the second half
///     32 1  bits of a hash
///     33 3  zero
///     36    columns: number 4 · type 1 · nullable 1 · name (length 4, UTF-8)
public struct TableSchema: Sendable, Equatable {
  static let kind: UInt8 = 0x53

  /// The columns in their order.
  public private(set) var columns: [Column]
  /// The number under which clusters keep each column; never used again for another.
  package private(set) var columnIDs: [UInt32]
  /// The number the next new column gets.
  package private(set) var nextColumnID: UInt32
  private var indices: [String: Int]
  /// The column that holds the primary key; nil when the table has none. It is never nullable.
  public private(set) var keyColumn: Int?
  /// Makes the codes of primary keys; the table's own for as long as it has one.
  package private(set) var keyCode = KeyCode(low: 0, high: 0, bits: 0)

  /// - Parameters:
  ///   - key: the name of the primary key's column, which is made not nullable.
  ///   - keyCode: makes the key's codes; with a random secret by default.
  /// - Throws: `EngineError.invalidSchema` when there is no column, a name is empty or stands twice,
  ///   or there is no column of the key's name.
  package init(
    _ columns: [Column], table: String, key: String? = nil, keyCode: KeyCode? = nil
  ) throws(EngineError) {
    self.columns = columns
    columnIDs = columns.indices.map { UInt32($0 + 1) }
    nextColumnID = UInt32(columns.count + 1)
    indices = [:]
    guard !columns.isEmpty else {
      throw EngineError.invalidSchema(table: table, reason: "a table needs at least one column")
    }
    for (index, column) in columns.enumerated() {
      guard !column.name.isEmpty else {
        throw EngineError.invalidSchema(table: table, reason: "column \(index + 1) has no name")
      }
      guard indices.updateValue(index, forKey: column.name) == nil else {
        throw EngineError.invalidSchema(
          table: table, reason: "the column name '\(column.name)' stands twice")
      }
    }
    guard let key else { return }
    guard let index = indices[key] else {
      throw EngineError.invalidSchema(
        table: table, reason: "the key '\(key)' is none of its columns")
    }
    setKey(at: index, code: keyCode ?? .random())
  }

  /// Where a column stands in the order; nil when there is none of that name.
  public func index(of name: String) -> Int? { indices[name] }

  /// Gives a column another type. Stored values are untouched: they are kept as spelled.
  package mutating func setType(_ type: ColumnType, at index: Int) {
    columns[index].type = type
  }

  /// Allows null in a column; the key stays without.
  package mutating func setNullable(at index: Int) {
    if index != keyColumn { columns[index].isNullable = true }
  }

  /// Makes a column the primary key.
  package mutating func setKey(at index: Int, code: KeyCode) {
    keyColumn = index
    keyCode = code
    columns[index].isNullable = false
  }

  /// Adds a column at the end; objects that are there already read as null.
  package mutating func add(_ column: Column, table: String) throws(EngineError) {
    guard !column.name.isEmpty, indices[column.name] == nil else {
      throw EngineError.invalidSchema(
        table: table, reason: "the column name '\(column.name)' is empty or there already")
    }
    indices[column.name] = columns.count
    columns.append(column)
    columnIDs.append(nextColumnID)
    nextColumnID &+= 1
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter(capacity: 12 + columns.count * 24)
    writer.append(Self.kind)
    writer.append([0, 0, 0])
    writer.append(nextColumnID)
    writer.append(UInt32(columns.count))
    writer.append(keyColumn.map { columnIDs[$0] } ?? 0)
    writer.append(keyCode.low)
    writer.append(keyCode.high)
    writer.append(keyCode.bits)
    writer.append([0, 0, 0])
    for (column, identifier) in zip(columns, columnIDs) {
      writer.append(identifier)
      writer.append(column.type.rawValue)
      writer.append(column.isNullable)
      writer.append(column.name)
    }
    return writer.bytes
  }

  package init(decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = ByteReader(bytes)
    guard try reader.read(UInt8.self, "kind") == Self.kind else {
      throw DecodingFailure(what: "it is not a schema", offset: 0)
    }
    _ = try reader.readBytes(3, "schema")
    let next = try reader.read(UInt32.self, "next column number")
    let count = try reader.read(UInt32.self, "number of columns")
    let key = try reader.read(UInt32.self, "the key column's number")
    let (low, high) = (
      try reader.read(UInt64.self, "secret"), try reader.read(UInt64.self, "secret")
    )
    let bits = try reader.read(UInt8.self, "bits of a hash")
    guard bits <= KeyCode.maximumBits else {
      throw DecodingFailure(what: "the bits of a hash", offset: 32)
    }
    keyCode = KeyCode(low: low, high: high, bits: bits)
    _ = try reader.readBytes(3, "schema")
    columns = []
    columnIDs = []
    indices = [:]
    nextColumnID = next
    for index in 0..<Int(count) {
      let identifier = try reader.read(UInt32.self, "column number")
      guard let type = ColumnType(rawValue: try reader.read(UInt8.self, "column type")) else {
        throw DecodingFailure(what: "unknown column type", offset: reader.offset)
      }
      let isNullable = try reader.readBool("column nullability")
      let name = try reader.readText("column name")
      guard indices.updateValue(index, forKey: name) == nil else {
        throw DecodingFailure(what: "a column name stands twice", offset: reader.offset)
      }
      guard identifier < next, columnIDs.last ?? 0 < identifier else {
        throw DecodingFailure(what: "column numbers are out of order", offset: reader.offset)
      }
      columns.append(Column(name, type, nullable: isNullable))
      columnIDs.append(identifier)
    }
    guard reader.remaining == 0 else {
      throw DecodingFailure(what: "bytes are left over", offset: reader.offset)
    }
    guard key != 0 else { return }
    guard let index = columnIDs.firstIndex(of: key), !columns[index].isNullable else {
      throw DecodingFailure(what: "the key is no column, or one that may be null", offset: 12)
    }
    keyColumn = index
  }
}
