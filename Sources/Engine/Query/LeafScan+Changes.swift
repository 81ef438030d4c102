/// Tests of columns with changed rows.
extension LeafScan {
  /// Tests the cluster's column as it is stored, and in the same way what is stored of changed rows column by
  /// column; only records are tested by their spellings.
  ///
  /// - Returns: nil when the cluster has another number of rows than its overlay says.
  /// - Throws: `ClusterError.misfit`, also for values that were changed since.
  /// - Complexity: as for the cluster's column and those of the blocks, plus O(changed rows of all blocks).
  func rows(
    _ column: LeafColumn, _ changes: OverlayColumn, _ test: CompiledTest
  ) throws -> RowBits? {
    let overlay = changes.overlay
    let stored = try rows(column.stored, test)
    guard stored.count == overlay.baseRowCount else { return nil }
    var rows = stored
    // What newer blocks say replaces what older ones say.
    for (block, source) in zip(overlay.blocks, changes.sources).reversed() {
      switch source {
      case .values(let values):
        rows.replace(by: try self.rows(values, test)) { block.forEachChangedRow($0) }
      case .records(let place):
        for index in 0..<block.changedCount {
          let row = block.changedRow(index)
          guard row >= 0, row < rows.count else { continue }
          switch block.field(index, column: place) {
          case .unchanged: rows[row] = stored[row]
          case .spelling(let spelling):
            rows[row] = try answer(test, spelling, id: column.stored.id, row: row)
          }
        }
      }
    }
    return rows.removing(overlay.deleted)
  }
}
