/// The changes of a list of objects between two versions.
///
/// To update a view: remove the rows at `deletions` (from last to first), insert rows at `insertions` (from
/// first to last), then redraw those at `newModifications`. The result is exactly the new list.
///
/// An object that moves in a sorted list is a deletion and an insertion, not a modification; the number of
/// moves is minimal. An object that starts or stops matching a filter is an insertion or a deletion.
///
/// Positions count from 0.
///
/// Thread rule: a plain value, `Sendable`.
public struct ChangeSet: Sendable, Equatable {
  /// Positions in the old list of objects that are not in the new one, ascending.
  public let deletions: [Int]
  /// Positions in the new list of objects that were not in the old one, ascending.
  public let insertions: [Int]
  /// Positions in the old list of objects that are in both lists, did not move, and have a field with another
  /// spelling in the new version; ascending.
  public let modifications: [Int]
  /// Positions of the same objects in the new list, in the order of `modifications`; also ascending.
  public let newModifications: [Int]

  /// True when both lists have the same objects with the same values.
  ///
  /// - Complexity: O(1).
  public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

  /// - Parameters:
  ///   - deletions: positions in the old list, ascending.
  ///   - insertions: positions in the new list, ascending.
  ///   - modifications: positions in the old list, ascending.
  ///   - newModifications: the positions of the same objects in the new list.
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
