/// The rows of a cluster while a transaction changes them.
///
/// Thread rule: used by the transaction's thread only.
package final class OpenCluster {
  package var rows: RowBuffer

  init(_ rows: RowBuffer) { self.rows = rows }

  package var count: Int { rows.rowCount }

  /// About how much memory the values take.
  var bytes: Int {
    rows.byteCount + rows.rowCount * rows.columnCount * MemoryLayout<TextSpan>.stride
  }
}
