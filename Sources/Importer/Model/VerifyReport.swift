import Base

/// The result of comparing inputs with a table. `read == found + repeated + rejected + filtered + missing +
/// differing`, for all inputs and for each.
///
/// Thread rule: a plain value, `Sendable`.
public struct VerifyReport: Sendable {
  /// The numbers of records by result.
  public struct Counts: Sendable, Equatable {
    /// Records of the input.
    public var read = 0
    /// Records for which an object has all values, to the letter.
    public var found = 0
    /// Records for which an object has the values of another record of the inputs with the same key.
    public var repeated = 0
    /// Records that are in a rejects file, to the letter.
    public var rejected = 0
    /// Records that `ImportOptions.filter` leaves out.
    public var filtered = 0
    /// Records that are neither in the table nor in a rejects file.
    public var missing = 0
    /// Records for which the object with their key has other values, which no other record of the inputs has
    /// either.
    public var differing = 0

    /// Creates empty counts.
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

  /// The result for an input.
  public struct Input: Sendable, Equatable {
    /// The path as given or found.
    public let path: String
    /// The numbers of its records by result.
    public var counts = Counts()
  }

  /// A record that is missing or differs.
  public struct Problem: Sendable, Equatable {
    /// The position of the record; it has no column.
    public let position: SourcePosition
    /// The record's number in the input, from 1.
    public let record: Int
    /// The record's primary key; nil when the table has none.
    public let key: String?
    /// The reason, for people.
    public let reason: String
  }

  /// The sums over all inputs.
  public var counts = Counts()
  /// The results for each input, in order.
  public var inputs: [Input] = []
  /// The rejects files that were searched.
  public var rejectFiles: [String] = []
  /// The inputs and the rejects files as they were before they were read, by their paths.
  package var files: [String: FileStatus] = [:]
  /// The first records that are missing or differ, in the order in which they were found.
  public var problems: [Problem] = []
  /// The name of the table.
  public var table = ""
  /// The version of the database that was compared.
  public var version: UInt64 = 0
  /// The number of objects in the table.
  public var objects = 0
  /// Notes for the user.
  public var notes: [String] = []
  /// True when `ImportOptions.shouldStop` ended the comparison; there is then no result.
  public var isInterrupted = false

  /// True when no record is missing or differs.
  public var isGood: Bool { counts.missing == 0 && counts.differing == 0 && !isInterrupted }

  /// The maximum number of problems listed.
  static let mostProblems = 1000

  /// Creates an empty report.
  public init() {}
}
