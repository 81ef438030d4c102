/// The result of comparing inputs with a table. `read == found + repeated + rejected + filtered + missing +
/// differing`, for all inputs and for each.
///
/// Thread rule: a plain value, `Sendable`.
public struct VerifyReport: Sendable {
  /// The numbers of records by their result.
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
    /// The object with its key has other values, which are not those of another record of the inputs either.
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
    /// The results of its records.
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
    /// The reason, for people.
    public let reason: String
  }

  /// The sums over all inputs.
  public var counts = Counts()
  /// One for each input, in their order.
  public var inputs: [Input] = []
  /// The rejects files that were searched.
  public var rejectFiles: [String] = []
  /// The first of the records that are missing or differ, in the order in which they were found.
  public var problems: [Problem] = []
  /// The table.
  public var table = ""
  /// The version that was compared.
  public var version: UInt64 = 0
  /// Objects of the table.
  public var objects = 0
  /// Notes for the user.
  public var notes: [String] = []
  /// True when `ImportOptions.shouldStop` ended it: there is no result then.
  public var isInterrupted = false

  /// Whether every record is where it should be.
  public var isGood: Bool { counts.missing == 0 && counts.differing == 0 && !isInterrupted }

  /// The most problems that are listed.
  static let mostProblems = 1000

  /// A report of nothing, to be filled.
  public init() {}
}
