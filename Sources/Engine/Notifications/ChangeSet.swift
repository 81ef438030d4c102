/// What changed in a list of objects from one version to a later one.
///
/// To bring a view up to date: remove the rows at `deletions` (from the last to the first), insert rows
/// at `insertions` (from the first to the last), then redraw those at `newModifications`. What is left is
/// the new list, exactly.
///
/// An object that moves in a sorted list is a deletion and an insertion, and no modification; as few
/// objects as possible are said to have moved. An object that begins or ceases to match a filter is an
/// insertion or a deletion.
///
/// Positions count from 0.
///
/// Thread rule: a plain value, `Sendable`.
public struct ChangeSet: Sendable, Equatable {
  /// Positions in the old list of what is gone from it, ascending.
  public let deletions: [Int]
  /// Positions in the new list of what was not in the old one, ascending.
  public let insertions: [Int]
  /// Positions in the old list of objects that are in both, did not move, and have a field that is
  /// spelled differently now; ascending.
  public let modifications: [Int]
  /// Where the same objects are in the new list, in the order of `modifications`, which is ascending too.
  public let newModifications: [Int]

  /// True when the two lists are the same and so are their objects.
  ///
  /// - Complexity: O(1).
  public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

  /// - Parameters:
  ///   - deletions: positions in the old list, ascending.
  ///   - insertions: positions in the new list, ascending.
  ///   - modifications: positions in the old list, ascending.
  ///   - newModifications: as many positions, in the new list.
  package init(
    deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = [],
    newModifications: [Int] = []
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.modifications = modifications
    self.newModifications = newModifications
  }
}
