/// The rows of a cluster while a transaction changes them.
///
/// Thread rule: only the transaction's thread uses it.
package final class OpenCluster {
  // Unchecked: nothing that is called while they change accesses them again.
  @exclusivity(unchecked) package var rows: RowBuffer

  init(_ rows: RowBuffer) { self.rows = rows }

  package var count: Int { rows.rowCount }

  /// About how much memory the values use.
  var bytes: Int {
    rows.byteCount + rows.rowCount * rows.columnCount * MemoryLayout<TextSpan>.stride
  }
}
