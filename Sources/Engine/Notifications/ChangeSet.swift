/// The changes of a list of objects between two versions.
///
/// To bring a view up to date: remove the rows at `deletions` (from the last to the first), insert rows at
/// `insertions` (from the first to the last), then redraw those at `newModifications`. The result is exactly
/// the new list.
///
/// An object that moves in a sorted list is a deletion and an insertion, not a modification; the number of
/// moves is as small as possible. An object that begins or ceases to match a filter is an insertion or a
/// deletion.
///
/// Positions count from 0.
///
/// Thread rule: a plain value, `Sendable`.
public struct ChangeSet: Sendable, Equatable {
  /// Positions in the old list of objects that are not in the new one, ascending.
  public let deletions: [Int]
  /// Positions in the new list of objects that were not in the old one, ascending.
  public let insertions: [Int]
  /// Positions in the old list of objects that are in both, did not move, and have a field with another
  /// spelling now; ascending.
  public let modifications: [Int]
  /// Positions of the same objects in the new list, in the order of `modifications`; ascending too.
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
