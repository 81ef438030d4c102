/// What `check` found out about a file.
///
/// Thread rule: a plain value, `Sendable`.
public struct CheckReport: Sendable {
  /// The version that was checked.
  public internal(set) var version: UInt64
  /// Every problem, each with its place. Empty when the file is sound.
  public internal(set) var problems: [String] = []
  /// Tables that were looked at.
  public internal(set) var tables = 0
  /// Objects in all tables.
  public internal(set) var objects = 0
  /// Clusters in all tables.
  public internal(set) var clusters = 0
  /// Blocks whose checksums were compared.
  public internal(set) var blocks = 0

  /// How often the disk could not read something: what is there is not known, and `problems` names it.
  public internal(set) var unreadable = 0

  /// True when nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
