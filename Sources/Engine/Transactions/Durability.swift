/// When a commit survives a power cut, and the end of the process. No choice can corrupt a file.
///
/// **With `group` and `none`, the newest commits are lost when the power fails, and also when the
/// process is killed or crashes, before they were flushed**: with `group` those of some
/// milliseconds, with `none` all since the last `flush`. What `flush`, `close` or a completion has
/// confirmed is safe.
///
/// A handle reads its own commits at once in any case; other handles and processes see them once
/// they are durable.
///
/// Thread rule: a plain value, `Sendable`.
public enum Durability: String, Sendable, CaseIterable {
  /// On disk before `commit` returns: two flushes a commit.
  case full
  /// Commits become durable together and in order, shortly after; `flush` waits for them. **A killed process
  /// loses those that were not flushed yet.**
  case group
  /// Nothing is flushed until `flush` or `close`, or until another handle wants to write, which has
  /// to wait for it. **A killed process loses all commits since the last flush.**
  case none
}
