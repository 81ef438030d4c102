@testable import Engine

extension RowBuffer {
  /// Adds a row of spellings, nil for null.
  mutating func append(key: Int64, spellings: [[UInt8]?]) throws(ClusterError) {
    try append(key: key, values: spellings.map { $0.map { Value.data($0) } ?? .null })
  }

  /// Adds rows of a cluster, whose key offsets are relative to `firstKey`.
  mutating func append(
    _ cluster: ClusterReader, firstKey: Int64, rows: Range<Int>
  ) throws(ClusterError) {
    let keys = try cluster.keys()
    try append(
      rowCount: rows.count, key: { firstKey &+ keys.offset(rows.lowerBound + $0) },
      decode: { id, decoded throws(ClusterError) in
        decoded.decode(try cluster.open(id: id), rows: rows)
      })
  }
}
