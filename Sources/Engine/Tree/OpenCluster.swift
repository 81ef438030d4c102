/// The rows of a cluster while a transaction changes them.
///
/// Thread rule: only the transaction's thread.
package final class OpenCluster {
  // Unchecked: no function called during their changes accesses them again.
  @exclusivity(unchecked) package var rows: RowBuffer

  init(_ rows: RowBuffer) { self.rows = rows }

  package var count: Int { rows.rowCount }

  /// The approximate memory of the values.
  var bytes: Int {
    rows.byteCount + rows.rowCount * rows.columnCount * MemoryLayout<TextSpan>.stride
  }
}
