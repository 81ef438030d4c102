/// Findings from the beginning of an input, with the reasons for the choice.
///
/// Thread rule: a plain value, `Sendable`.
public struct InputFindings: Sendable, Equatable {
  /// A dialect that was tried on the first records.
  public struct Candidate: Sendable, Equatable {
    /// The text between fields, or `whitespace`.
    public let delimiter: String
    /// The character around fields; nil when there is none.
    public let quote: String?
    /// The character that makes a quote literal, equal to the quote when quotes are doubled; nil when there
    /// is none.
    public let escape: String?
    /// The most common number of fields of a record.
    public let fields: Int
    /// The share of records with this number of fields, from 0 to 1.
    public let agreeing: Double
    /// Records with text after a closing quote, or with a quote that is never closed.
    public let malformed: Int
    /// Columns that have only numbers, dates and similar values.
    public let typedColumns: Int
    /// Fields that look like parts of a quoted field.
    public let splitFields: Int
    /// True when every record has another delimiter within its fields.
    public let leavesDelimiters: Bool
    /// The sum of these findings; the highest score is best.
    public let score: Double
    /// True for the dialect that is used.
    public let isChosen: Bool
  }

  /// The dialects that were tried, best first.
  public internal(set) var candidates: [Candidate] = []
  /// Why the first record is, or is not, the header; nil when an option decides it.
  public internal(set) var header: String?

  /// Creates empty findings.
  public init() {}
}
