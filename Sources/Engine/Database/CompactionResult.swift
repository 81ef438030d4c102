/// What became of a wish to compact.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionResult: Sendable, Equatable {
  /// Whether the file was compacted, or why not.
  public enum Decision: String, Sendable {
    /// The file was written anew.
    case compacted
    /// The policy said no.
    case notNeeded
    /// The caller said no.
    case disabled
    /// Another process has the file open, or a snapshot is held.
    case skippedInUse
    /// The disk has no room for the copy.
    case skippedNoSpace
    /// The file belongs to somebody else: its copy would not.
    case skippedNotOwner
    /// The file has other names (hard links), or is mounted by itself: the copy would not be found there.
    case skippedOtherNames
  }
  /// What was decided.
  public let decision: Decision
  /// The file's length before, in bytes.
  public let before: Int
  /// The file's length afterwards, in bytes; equal to `before` when it was skipped.
  public let after: Int
  /// Why it was skipped, or ended before all was gained, in words; nil when it was neither.
  public let reason: String?
  /// Whether it was made while others used the file; see `Database.compactInUse`.
  public let isInUse: Bool
  /// Whether it ended because it was to stop; what it had done until then stays.
  public let isStopped: Bool
  /// After a compaction in use: the older versions that somebody holds, and what that keeps in the file.
  public let held: [ActiveVersion]

  /// - Parameters:
  ///   - decision: what was decided.
  ///   - before: the file's length before, in bytes.
  ///   - after: its length afterwards.
  ///   - reason: why it was skipped, in words.
  ///   - isInUse: whether it was made while others used the file.
  ///   - isStopped: whether it was to stop.
  ///   - held: the older versions that somebody holds.
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
