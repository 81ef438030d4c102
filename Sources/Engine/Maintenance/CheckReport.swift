/// The results of `check`.
///
/// Thread rule: a plain value, `Sendable`.
public struct CheckReport: Sendable {
  /// The version that was checked.
  public internal(set) var version: UInt64
  /// Every problem, each with its place. Empty when the file is sound.
  public internal(set) var problems: [String] = []
  /// The number of tables checked.
  public internal(set) var tables = 0
  /// Objects in all tables.
  public internal(set) var objects = 0
  /// Clusters in all tables.
  public internal(set) var clusters = 0
  /// Blocks whose checksums were compared.
  public internal(set) var blocks = 0

  /// The kept versions that were checked too, the newest first.
  public internal(set) var keptVersions: [UInt64] = []
  /// The tables that have pending rows, which were checked too.
  public internal(set) var pendingTables: [String] = []

  /// True when all redundant data was compared: see `Database.check(deep:)`. Otherwise the members from here
  /// to `values` are empty or 0.
  public internal(set) var isDeep = false
  /// The older versions that were checked too, the newest first.
  public internal(set) var olderVersions: [UInt64] = []
  /// The older versions that could not be checked: their readers have released them meanwhile, or they were
  /// named only by a commit slot no longer in use, and their pages have been reused.
  public internal(set) var passedOver: [UInt64] = []
  /// Entries of all indexes, each looked up in its table.
  public internal(set) var indexEntries = 0
  /// How many of these lead to no object, or to one whose value has changed. That is not a problem: an update
  /// leaves them, and queries look at the object. A compaction removes them.
  public internal(set) var outdatedEntries = 0
  /// Values that were read in every possible way.
  public internal(set) var values = 0

  /// How often the system could not read bytes, the file's length, or the holders of versions: it is not
  /// known whether these are sound, and `problems` names them.
  public internal(set) var unreadable = 0

  /// True when nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
