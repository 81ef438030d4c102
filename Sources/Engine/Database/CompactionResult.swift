/// The outcome of a request to compact.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionResult: Sendable, Equatable {
  /// Whether the file was compacted, and otherwise the reason.
  public enum Decision: String, Sendable {
    /// The file was rewritten.
    case compacted
    /// The policy found it unnecessary.
    case notNeeded
    /// The caller disabled it.
    case disabled
    /// Another process has the file open, or a snapshot is held.
    case skippedInUse
    /// The disk has no space for the copy.
    case skippedNoSpace
    /// The file belongs to another user, and the copy would not.
    case skippedNotOwner
    /// The file has other hard links or is a mount point, so the copy would not be found under all of its
    /// names.
    case skippedOtherNames
  }
  /// The decision.
  public let decision: Decision
  /// The file's length before, in bytes.
  public let before: Int
  /// The file's length afterwards, in bytes; equal to `before` when the compaction was skipped.
  public let after: Int
  /// Why the compaction was skipped, or ended before it gained all space; otherwise nil.
  public let reason: String?
  /// True when the file was in use during the compaction; see `Database.compactInUse`.
  public let isInUse: Bool
  /// True when `shouldStop` ended it; the transactions that it committed before remain.
  public let isStopped: Bool
  /// After a compaction in use: the older versions that are held, with the space that they keep.
  public let held: [ActiveVersion]

  /// - Parameters:
  ///   - decision: the decision.
  ///   - before: the file's length before, in bytes.
  ///   - after: its length afterwards.
  ///   - reason: why it was skipped, in words.
  ///   - isInUse: whether it was made while others used the file.
  ///   - isStopped: whether `shouldStop` ended it.
  ///   - held: the older versions that are held.
  public init(
    decision: Decision, before: Int, after: Int, reason: String? = nil, isInUse: Bool = false,
    isStopped: Bool = false, held: [ActiveVersion] = []
  ) {
    self.decision = decision
    self.before = before
    self.after = after
    self.reason = reason
    self.isInUse = isInUse
    self.isStopped = isStopped
    self.held = held
  }
}
