/// The results of `check`.
///
/// Thread rule: a plain value, `Sendable`.
public struct CheckReport: Sendable {
  /// The version that was checked.
  public internal(set) var version: UInt64
  /// Every problem, with its place; empty when the file is sound.
  public internal(set) var problems: [String] = []
  /// The number of tables checked.
  public internal(set) var tables = 0
  /// The number of objects in all tables.
  public internal(set) var objects = 0
  /// The number of clusters in all tables.
  public internal(set) var clusters = 0
  /// The number of blocks whose checksums were compared.
  public internal(set) var blocks = 0

  /// The kept versions that were checked too, the newest first.
  public internal(set) var keptVersions: [UInt64] = []
  /// The tables with a pending table, which was checked too.
  public internal(set) var pendingTables: [String] = []

  /// True when all redundant data was compared: see `Database.check(deep:)`. Otherwise the properties from
  /// here to `values` are empty or 0.
  public internal(set) var isDeep = false
  /// The older versions that were checked too, the newest first.
  public internal(set) var olderVersions: [UInt64] = []
  /// The older versions that could not be checked: their readers have released them meanwhile, or only an
  /// unused commit slot named them, and their pages have been reused.
  public internal(set) var passedOver: [UInt64] = []
  /// The number of entries in all indexes, each looked up in its table.
  public internal(set) var indexEntries = 0
  /// The number of these that lead to no object, or to one whose value has changed. That is not a problem: an
  /// update leaves them, and queries read the object. A compaction removes them.
  public internal(set) var outdatedEntries = 0
  /// The number of values that were read in every possible way.
  public internal(set) var values = 0

  /// How often the system could not read bytes, the file's length, or the holders of versions: it is unknown
  /// whether these are sound, and `problems` lists them.
  public internal(set) var unreadable = 0

  /// True when there are no problems.
  public var isSound: Bool { problems.isEmpty }
}
