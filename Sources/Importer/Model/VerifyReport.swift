/// What a comparison of inputs with a table has found.
/// `read == found + repeated + rejected + filtered + missing + differing`, of all inputs and of each.
///
/// Thread rule: a plain value, `Sendable`.
public struct VerifyReport: Sendable {
  /// What became of records.
  public struct Counts: Sendable, Equatable {
    /// Records of the input.
    public var read = 0
    /// An object has all of the record's values, to the letter.
    public var found = 0
    /// An object has the values of another record of the inputs with the same key.
    public var repeated = 0
    /// It is in a rejects file, to the letter.
    public var rejected = 0
    /// `ImportOptions.filter` leaves it out.
    public var filtered = 0
    /// It is neither in the table nor in a rejects file.
    public var missing = 0
    /// The object with its key has other values, and none that the inputs have.
    public var differing = 0

    /// A report of nothing.
    public init() {}

    mutating func add(_ other: Counts) {
      read += other.read
      found += other.found
      repeated += other.repeated
      rejected += other.rejected
      filtered += other.filtered
      missing += other.missing
      differing += other.differing
    }
  }

  /// One of the inputs.
  public struct Input: Sendable, Equatable {
    /// The path, as it was given or found.
    public let path: String
    /// What became of its records.
    public var counts = Counts()
  }

  /// A record that is not where it should be.
  public struct Problem: Sendable, Equatable {
    /// Where it is; without a column.
    public let position: SourcePosition
    /// Its number in the input, from 1.
    public let record: Int
    /// Its primary key, where the table has one.
    public let key: String?
    /// What is wrong, for people.
    public let reason: String
  }

  /// Of all inputs.
  public var counts = Counts()
  /// One for each input, in their order.
  public var inputs: [Input] = []
  /// The rejects files that were looked into.
  public var rejectFiles: [String] = []
  /// The first of the records that are missing or differ, in the order in which they were found out.
  public var problems: [Problem] = []
  /// The table.
  public var table = ""
  /// The version that was looked at.
  public var version: UInt64 = 0
  /// Objects of the table.
  public var objects = 0
  /// What was noticed that a person should know.
  public var notes: [String] = []
  /// True when `ImportOptions.shouldStop` ended it: nothing is known then.
  public var isInterrupted = false

  /// Whether every record is where it should be.
  public var isGood: Bool { counts.missing == 0 && counts.differing == 0 && !isInterrupted }

  /// More are not listed.
  static let mostProblems = 1000

  /// A report of nothing, to be filled.
  public init() {}
}
