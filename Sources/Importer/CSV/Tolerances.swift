/// Deviations that were tolerated in records; `docs/csv.md` lists them, and a report notes them.
package struct Tolerances: Sendable, Equatable {
  package enum Kind: Int, Sendable, CaseIterable {
    /// Blanks around a quoted field, dropped.
    case blanksAroundQuotes
    /// Quotes in an unquoted field, kept.
    case strayQuotes
    /// Text after a closing quote, kept if so configured.
    case textBehindQuotes
    case blankLines
    case comments
    /// An empty field after the last column, dropped.
    case trailingDelimiters
  }

  /// The number of occurrences, if counted, and the first line; nil when there was none.
  package struct Sighting: Sendable, Equatable {
    package var count: Int
    package var line: Int
  }

  private var blanks: Sighting?
  private var quotes: Sighting?
  private var behind: Sighting?
  private var lines: Sighting?
  private var comments: Sighting?
  private var trailing: Sighting?

  package init() {}

  package subscript(kind: Kind) -> Sighting? {
    get {
      switch kind {
      case .blanksAroundQuotes: blanks
      case .strayQuotes: quotes
      case .textBehindQuotes: behind
      case .blankLines: lines
      case .comments: comments
      case .trailingDelimiters: trailing
      }
    }
    set {
      switch kind {
      case .blanksAroundQuotes: blanks = newValue
      case .strayQuotes: quotes = newValue
      case .textBehindQuotes: behind = newValue
      case .blankLines: lines = newValue
      case .comments: comments = newValue
      case .trailingDelimiters: trailing = newValue
      }
    }
  }

  /// - Parameter line: 1-based.
  package mutating func note(_ kind: Kind, line: Int, count: Int = 1) {
    let before = self[kind]
    self[kind] = Sighting(
      count: (before?.count ?? 0) + count, line: min(before?.line ?? line, line))
  }

  package mutating func add(_ other: Tolerances) {
    for kind in Kind.allCases {
      if let seen = other[kind] { note(kind, line: seen.line, count: seen.count) }
    }
  }

  /// The notes about them in a report.
  var notes: [String] {
    Kind.allCases.compactMap { kind in
      guard let seen = self[kind] else { return nil }
      let place = "first at line \(seen.line)"
      func lines(_ what: String) -> String {
        "\(seen.count) \(what) line\(seen.count == 1 ? "" : "s") left out, \(place)"
      }
      return switch kind {
      case .blanksAroundQuotes: "blanks around quoted fields were dropped, \(place)"
      case .strayQuotes: "quotes inside unquoted fields were kept as they are, \(place)"
      case .textBehindQuotes:
        "\(seen.count) field\(seen.count == 1 ? "" : "s") had text behind the closing quote, which was kept, "
          + place
      case .blankLines: lines("blank")
      case .comments: lines("comment")
      case .trailingDelimiters:
        "\(seen.count) record\(seen.count == 1 ? "" : "s") ended with a delimiter that was dropped, "
          + place
      }
    }
  }
}
