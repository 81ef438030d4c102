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

  /// The kept versions that were checked too, the newest first.
  public internal(set) var keptVersions: [UInt64] = []
  /// The tables beside which something is pending, which was checked too.
  public internal(set) var pendingTables: [String] = []

  /// True when everything was compared that is said twice: see `Database.check(deep:)`. What follows down to
  /// `values` is empty or 0 otherwise.
  public internal(set) var isDeep = false
  /// The older versions that were checked too, the newest first.
  public internal(set) var olderVersions: [UInt64] = []
  /// The older versions that could not be: their readers have released them meanwhile, or, of a
  /// commit slot that is not in use any more, their pages have been used again.
  public internal(set) var passedOver: [UInt64] = []
  /// Entries of all indexes, each looked up in its table.
  public internal(set) var indexEntries = 0
  /// How many of these lead to no object, or to one whose value has changed. That is no problem: an
  /// update leaves them, and queries look at the object. A compaction removes them.
  public internal(set) var outdatedEntries = 0
  /// Values that were read in every way there is.
  public internal(set) var values = 0

  /// How often the system could not read something, or not say how long the file is or who holds
  /// versions: what is there is not known, and `problems` names it.
  public internal(set) var unreadable = 0

  /// True when nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
