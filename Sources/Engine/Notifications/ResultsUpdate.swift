/// The changes of a query's results, from which observers of all columns or of some get their change sets.
///
/// Thread rule: a plain value, `Sendable`.
package struct ResultsUpdate: Sendable {
  struct Modification {
    let oldPosition: Int
    let newPosition: Int
    /// An index into `columnSets`.
    let columnSet: Int
  }

  private let deletions: [Int]
  private let insertions: [Int]
  private let modifications: [Modification]
  /// The numbers of changed columns.
  private let columnSets: [[UInt32]]

  /// - Parameter difference: has the column sets that `modifications` refer to.
  init(
    deletions: [Int], insertions: [Int], modifications: [Modification],
    _ difference: TableDifference
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.modifications = modifications
    columnSets = modifications.isEmpty ? [] : difference.columnSets
  }

  /// The changes for an observer; empty when there are none for it.
  ///
  /// - Parameter columns: identifiers of columns, which renaming does not change. An object is modified only
  ///   if one of them changed; deletions and insertions always count. Nil: all columns.
  package func changes(ofColumns columns: Set<UInt32>? = nil) -> ChangeSet {
    let isWanted = columnSets.map { columns?.isDisjoint(with: $0) != true }
    let wanted = modifications.filter { isWanted[$0.columnSet] }
    return ChangeSet(
      deletions: deletions, insertions: insertions, modifications: wanted.map(\.oldPosition),
      newModifications: wanted.map(\.newPosition))
  }

  var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }
}
