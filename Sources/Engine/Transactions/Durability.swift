/// When a commit survives a power cut or the end of the process. No choice can corrupt a file.
///
/// **With `group` and `none`, commits that were not flushed are lost when the power fails, when the process
/// is killed or crashes, and also when it ends, or releases the database, without `close`**: with `group`
/// those of some milliseconds, with `none` all since the last `flush`. Commits that `flush`, `close` or a
/// completion has confirmed are safe.
///
/// A handle always reads its own commits at once; other handles and processes see them once they are durable.
///
/// Thread rule: a plain value, `Sendable`.
public enum Durability: String, Sendable, CaseIterable {
  /// On disk before `commit` returns: two flushes a commit.
  case full
  /// Commits become durable together and in order, shortly after `commit`; `flush` waits for them. **A
  /// process that is killed, or ends without `close`, loses those that were not flushed.**
  case group
  /// Commits are flushed by `flush` or `close`, or before another handle writes, which waits for it. **A
  /// process that is killed, or ends without `close`, loses all commits since the last flush.**
  case none
}
