extension TableSchema {
  /// The spelling of each column's default; nil for columns without one.
  package var defaults: [[UInt8]?] {
    columns.map { column in
      column.default.map { column.stored($0).spelling }
    }
  }
}

/// Adds rows that lack some of the table's columns, as in an import; their objects get the columns' defaults.
/// A null in a row remains null.
extension TableEditor {
  /// Returns the cluster with each missing column of the table added and filled with its default.
  ///
  /// - Complexity: O(columns) when none is missing, otherwise O(bytes).
  func withDefaults(_ cluster: EncodedCluster) throws -> EncodedCluster {
    var missing: [(id: UInt32, spelling: [UInt8])] = []
    for (column, id) in zip(schema.columns, schema.columnIDs) {
      guard let value = column.default, !cluster.columns.contains(where: { $0.id == id }) else {
        continue
      }
      missing.append((id, column.stored(value).spelling))
    }
    if missing.isEmpty || cluster.rowCount == 0 { return cluster }
    return try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      var columns = try cluster.columns.compactMap { try reader.encodedColumn(id: $0.id) }
      for (id, spelling) in missing {
        columns.append(
          try store.builder.encode(repeating: spelling, id: id, rowCount: cluster.rowCount))
      }
      return try store.builder.assemble(columns, rowCount: cluster.rowCount, keyOffsets: nil)
    }
  }

  /// Adds objects given as spellings, row by row, without some columns.
  ///
  /// - Parameters:
  ///   - absent: the columns that get their default in all rows; their spans are null.
  ///   - keysAreNew: as in the other `append`.
  /// - Throws: the errors of the other `append`.
  package func append(
    arena: UnsafeRawBufferPointer, spans: UnsafeBufferPointer<TextSpan>, rowCount: Int,
    absent: [Int], keysAreNew: Bool = false
  ) throws {
    let defaults = schema.defaults
    let filled = absent.filter { defaults[$0] != nil }
    guard !filled.isEmpty, spans.count == rowCount * defaults.count else {
      return try append(arena: arena, spans: spans, rowCount: rowCount, keysAreNew: keysAreNew)
    }
    var bytes = Array(arena)
    var rows = Array(spans)
    for column in filled {
      guard let spelling = defaults[column], let offset = UInt32(exactly: bytes.count),
        offset < .max
      else { throw EngineError.tooLarge(what: "the rows of a batch", limit: "4 GB") }
      bytes += spelling
      let span = TextSpan(offset: offset, length: UInt32(clamping: spelling.count))
      for row in 0..<rowCount { rows[row * defaults.count + column] = span }
    }
    // A spare byte provides a pointer for the empty spelling.
    bytes.append(0)
    try bytes.withUnsafeBytes { bytes in
      try rows.withUnsafeBufferPointer {
        try append(arena: bytes, spans: $0, rowCount: rowCount, keysAreNew: keysAreNew)
      }
    }
  }
}
