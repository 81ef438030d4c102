/// The findings about the beginning of an input, with their reasons.
///
/// Thread rule: a plain value, `Sendable`.
public struct InputFindings: Sendable, Equatable {
  /// A dialect that was tried on the first records.
  public struct Candidate: Sendable, Equatable {
    /// The text between fields, or `whitespace`.
    public let delimiter: String
    /// The character around fields; nil: none.
    public let quote: String?
    /// The character that makes a quote literal; the quote itself where it is written twice; nil: none.
    public let escape: String?
    /// The most common number of fields of a record.
    public let fields: Int
    /// The share of records with this number of fields, from 0 to 1.
    public let agreeing: Double
    /// Records with text after a closing quote, or a quote that is never closed.
    public let malformed: Int
    /// Columns with nothing but numbers, dates and the like in them.
    public let typedColumns: Int
    /// Fields that look like halves of a quoted one.
    public let splitFields: Int
    /// Whether every record has another delimiter left in its fields.
    public let leavesDelimiters: Bool
    /// The sum of these findings; the greater the better.
    public let score: Double
    /// Whether it is the one that is used.
    public let isChosen: Bool
  }

  /// The dialects that were tried, the best first.
  public internal(set) var candidates: [Candidate] = []
  /// Why the first record is the header, or is not; nil where an option says it.
  public internal(set) var header: String?

  /// Nothing.
  public init() {}
}
