/// When a commit survives a power cut. No choice can corrupt a file; a weaker one may lose the
/// newest commits.
///
/// Thread rule: a plain value, `Sendable`.
public enum Durability: String, Sendable, CaseIterable {
  /// On disk before `commit` returns: two flushes a commit.
  case full
  /// Commits become durable together and in order, shortly after; `flush` waits for them. Readers
  /// see a commit once it is durable.
  case group
  /// Nothing is flushed until `flush` or `close`. Readers of this process see a commit at once,
  /// other processes once it is durable; until then other processes cannot write.
  case none
}
