/// The primary key of a table inside a write transaction.
extension TableEditor {
  package var keyColumn: Int? { schema.keyColumn }

  /// Makes a column the primary key of the table.
  ///
  /// - Throws: `EngineError.invalidKey` naming an object whose value is null, or two that have the
  ///   same; the table is then as it was.
  /// - Complexity: O(objects).
  package func setKey(column: Int) throws {
    try use {
      guard schema.columns.indices.contains(column) else {
        throw EngineError.invalidArgument("table '\(name)' has no column \(column)")
      }
      if column == schema.keyColumn { return }
      keyMap = try scan(column)
      schema.setKey(at: column)
      schemaIsChanged = true
    }
  }

  /// Looks primary keys up, the transaction's own changes included. Made for many at a time.
  ///
  /// - Parameters:
  ///   - base: what the spans' offsets count from.
  ///   - keys: spellings; a null one is found nowhere.
  ///   - found: as many places; gets the key of the object that has each, or -1. Keys of objects are
  ///     never negative.
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, `.damaged`.
  package func find(
    base: UnsafeRawPointer, keys: UnsafeBufferPointer<TextSpan>,
    into found: UnsafeMutableBufferPointer<Int64>
  ) throws {
    try use {
      guard schema.keyColumn != nil, keys.count <= found.count else {
        throw EngineError.invalidArgument("table '\(name)' has no primary key")
      }
      let map = try map()
      for (index, span) in keys.enumerated() {
        found[index] = -1
        if let key = Self.bytes(base, span), let object = map[key] { found[index] = object }
      }
    }
  }

  /// The key of the object that has a primary key; nil when none has.
  package func find(_ spelling: [UInt8]) throws -> Int64? {
    let span = TextSpan(offset: 0, length: UInt32(clamping: spelling.count))
    var found: Int64 = -1
    try spelling.withUnsafeBytes { bytes in
      // Any address does for an empty spelling.
      try withUnsafePointer(to: span) { span in
        try withUnsafeMutablePointer(to: &found) { found in
          try find(
            base: bytes.baseAddress ?? UnsafeRawPointer(span),
            keys: UnsafeBufferPointer(start: span, count: 1),
            into: UnsafeMutableBufferPointer(start: found, count: 1))
        }
      }
    }
    return found < 0 ? nil : found
  }

  private static func bytes(_ base: UnsafeRawPointer, _ span: TextSpan) -> [UInt8]? {
    if span.isNull { return nil }
    return Array(
      UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length)))
  }

  private func map() throws -> [[UInt8]: Int64] {
    if let keyMap { return keyMap }
    let map = try scan(schema.keyColumn ?? 0)
    keyMap = map
    return map
  }

  private func scan(_ column: Int) throws -> [[UInt8]: Int64] {
    var map: [[UInt8]: Int64] = [:]
    for position in 0..<Int(clamping: tree.count) {
      guard let row = try row(at: position) else { continue }
      let value = row.values[column]
      if value == .null {
        throw EngineError.invalidKey(
          table: name, column: schema.columns[column].name,
          reason: "object \(row.key) is null there")
      }
      if let other = map.updateValue(row.key, forKey: try spelling(row.key, column)) {
        throw EngineError.invalidKey(
          table: name, column: schema.columns[column].name,
          reason: "the objects \(other) and \(row.key) both have \(value)")
      }
    }
    return map
  }

  private func spelling(_ key: Int64, _ column: Int) throws -> [UInt8] {
    switch try tree.place(ofKey: key) {
    case nil: return []
    case .open(let cluster, _):
      return cluster.rows.row(ofKey: key).flatMap {
        cluster.rows.spelling(row: $0, column: column)
      } ?? []
    case .stored(let entry, _):
      let leaf = try store.leaf(entry)
      guard let row = try leaf.keys().row(ofKey: key) else { return [] }
      let decoded = DecodedColumn()
      try leaf.column(id: schema.columnIDs[column]).decode(rows: row..<row + 1, into: decoded)
      return decoded[0].map { Array($0) } ?? []
    }
  }

  func duplicateKey(_ spelling: [UInt8]) -> EngineError {
    .duplicateKey(
      table: name, column: schema.columns[schema.keyColumn ?? 0].name,
      value: String(decoding: spelling, as: UTF8.self))
  }

  /// Adds the primary key of a new object.
  func addKey(_ spelling: [UInt8], of object: Int64) throws {
    if try find(spelling) != nil { throw duplicateKey(spelling) }
    keyMap?[spelling] = object
  }

  func changeKey(of object: Int64, to spelling: [UInt8]) throws {
    let found = try find(spelling)
    if found == object { return }
    if found != nil { throw duplicateKey(spelling) }
    keyMap = nil
  }

  /// Adds the primary keys of new objects, whose keys follow each other.
  func addKeys(
    base: UnsafeRawPointer, _ keys: UnsafeBufferPointer<TextSpan>, firstKey: Int64, areNew: Bool
  ) throws {
    var map = try map()
    for (index, span) in keys.enumerated() {
      guard let key = Self.bytes(base, span) else {
        throw EngineError.invalidValue(
          table: name, column: schema.columns[schema.keyColumn ?? 0].name, value: "null",
          expected: "allowed there")
      }
      if map.updateValue(firstKey &+ Int64(index), forKey: key) != nil { throw duplicateKey(key) }
    }
    keyMap = map
  }

  func addKeys(of cluster: EncodedCluster, _ column: Int) throws {
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      let decoded = DecodedColumn()
      decoded.decode(try reader.open(id: schema.columnIDs[column]), rows: 0..<reader.rowCount)
      try addKeys(base: decoded.base, decoded.spans, firstKey: table.nextKey, areNew: false)
    }
  }
}
