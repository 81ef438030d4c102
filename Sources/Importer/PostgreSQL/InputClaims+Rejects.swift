/// The rejected records of an input.
extension InputClaims {
  /// Calls `body` with the rejects of an input, in the order of its records, in groups.
  func forRejects(_ input: ServerInput, _ body: ([Reject]) throws -> Void) throws {
    var last = 0
    while true {
      let rows = try session.use { connection in
        try connection.run(
          "SELECT record, line, position, byte_offset, \"column\", value, reason, "
            + "encode(original, 'hex') FROM \(tables.reject) WHERE input = \(key(input)) AND record > "
            + "\(last) ORDER BY record LIMIT 200"
        ).last?.rows ?? []
      }
      let rejects = rows.compactMap { Reject($0, file: input.name) }
      guard let end = rejects.last else { return }
      try body(rejects)
      last = end.record
    }
  }
}

extension Reject {
  /// Reads a row of `sheaf_reject`; nil when the row is malformed.
  fileprivate init?(_ row: ServerRow, file: String) {
    guard let record = row.int(0),
      let line = row.int(1),
      let column = row.int(2), let offset = row.int(3),
      let reason = row[6], let hex = row[7]
    else { return nil }
    var original: [UInt8] = []
    var digits = hex.utf8.makeIterator()
    while let high = digits.next(), let low = digits.next() {
      guard let byte = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16) else {
        return nil
      }
      original.append(byte)
    }
    self.init(
      record: record,
      position: SourcePosition(file: file, line: line, column: column, byteOffset: offset),
      column: row[4], value: row[5], reason: reason, original: original)
  }
}
