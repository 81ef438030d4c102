extension TableEditor {
  /// Replaces all values of an object by spellings, of which the caller has made sure that they fit,
  /// and that the primary key stays as it is.
  ///
  /// - Parameters:
  ///   - base: what the spans' offsets count from.
  ///   - row: a span for each column, in the order of the schema.
  /// - Throws: `EngineError.noSuchObject`.
  package func replace(_ key: Int64, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>) throws {
    try use {
      let found = try tree.withOpenCluster(holding: key) { cluster in
        guard let place = cluster.rows.row(ofKey: key) else { return false }
        for column in schema.columns.indices {
          let span = row[column]
          let bytes = UnsafeRawBufferPointer(
            start: span.isNull ? nil : base + Int(span.offset), count: Int(span.length))
          try cluster.rows.set(
            row: place, column: column, to: span.isNull ? .null : .data(Array(bytes)))
        }
        return true
      }
      guard found == true else { throw EngineError.noSuchObject(table: name, key: key) }
      try tree.limitMemory()
    }
  }
}
