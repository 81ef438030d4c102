/// The outcome of a request to compact.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionResult: Sendable, Equatable {
  /// Whether the file was compacted, or why not.
  public enum Decision: String, Sendable {
    /// The file was written anew.
    case compacted
    /// The policy decided against it.
    case notNeeded
    /// The caller decided against it.
    case disabled
    /// Another process has the file open, or a snapshot is held.
    case skippedInUse
    /// The disk has no room for the copy.
    case skippedNoSpace
    /// The file belongs to another user: the copy would not.
    case skippedNotOwner
    /// The file has other names (hard links), or is itself a mount point: the copy would not be found there.
    case skippedOtherNames
  }
  /// The decision.
  public let decision: Decision
  /// The file's length before, in bytes.
  public let before: Int
  /// The file's length afterwards, in bytes; equal to `before` when it was skipped.
  public let after: Int
  /// Why it was skipped, or ended before all space was gained, in words; otherwise nil.
  public let reason: String?
  /// Whether it was made while others used the file; see `Database.compactInUse`.
  public let isInUse: Bool
  /// Whether `shouldStop` ended it; its transactions until then stay.
  public let isStopped: Bool
  /// After a compaction in use: the older versions that are held, and the space that they keep.
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
