/// A version that the database keeps beside the newest, until it is let go.
///
/// Thread rule: a plain value, `Sendable`.
public struct KeptVersion: Sendable, Equatable {
  /// The version's number.
  public let number: UInt64
  /// When it was made, to the second; nil when that is not known: nothing was kept yet.
  public let made: DateTime?
  /// What made it, as the program said that did; empty when it said nothing, or nothing was kept yet.
  public let madeBy: String
  /// The names that it was given, by any of which it is found. A version that has one is not let go.
  public let tags: [String]
  /// True for a version that is let go when more than the newest so many have been kept.
  public let isAutomatic: Bool

  init(_ root: KeptRoot) {
    number = root.record.version
    made = root.made.dateTime
    madeBy = root.made.what
    tags = root.tags
    isAutomatic = root.isAutomatic
  }
}

extension VersionOrigin {
  /// When the version was made; nil when that is not known.
  var dateTime: DateTime? {
    let (microseconds, overflow) = secondsSince1970.multipliedReportingOverflow(by: 1_000_000)
    return secondsSince1970 == 0 || overflow ? nil : DateTime(microsecondsSince1970: microseconds)
  }
}

/// What a version is asked for by.
///
/// Thread rule: a plain value, `Sendable`.
public enum VersionName: Sendable, Equatable, CustomStringConvertible {
  /// Its number.
  case number(UInt64)
  /// A name that it was given.
  case tag(String)
  /// A moment: the version that was the newest then, as far as it is kept.
  case time(DateTime)

  /// - Parameter text: a number; a date-time, or a date, which is the moment when it begins, in UTC; else a
  ///   tag.
  public init(_ text: String) {
    let bytes = Array(text.utf8)
    let time = bytes.withUnsafeBytes { Value(spelling: $0, as: Reading(.dateTime)) }
    if let number = UInt64(text) {
      self = .number(number)
    } else if case .dateTime(let moment) = time {
      self = .time(moment)
    } else {
      self = .tag(text)
    }
  }

  /// What a person would write.
  public var description: String {
    switch self {
    case .number(let number): "\(number)"
    case .tag(let tag): tag
    case .time(let moment): "\(moment)"
    }
  }

  /// Why a text cannot be a tag; nil when it can.
  static func problem(withTag text: String) -> String? {
    if text.isEmpty || text.utf8.count > 100 { return "a tag has 1 to 100 bytes" }
    if text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
      return "a tag has no control characters"
    }
    if text.first?.isWhitespace == true || text.last?.isWhitespace == true {
      return "a tag neither begins nor ends with a blank"
    }
    if case .tag = VersionName(text) { return nil }
    return "'\(text)' reads as a number or a moment, by which versions are found too"
  }
}

extension Snapshot {
  /// The older versions that this one keeps, oldest first. Some may have been let go since.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: `EngineError.damaged`.
  public var keptVersions: [KeptVersion] { get throws { try history().kept.map(KeptVersion.init) } }

  /// How many versions imports keep by themselves; 0: none.
  ///
  /// - Throws: `EngineError.damaged`.
  public var keptVersionsLimit: Int { get throws { Int(try history().limit) } }

  /// When the version was made, to the second; nil when that is not known.
  public var made: DateTime? { catalogue.origin.dateTime }

  /// What made the version, as the program said; empty when it is not known.
  public var madeBy: String { catalogue.origin.what }

  /// - Throws: `EngineError.damaged`.
  package func history() throws -> History {
    try translatingErrors(blocks.storage.path) {
      try VersionRoots(record, blocks).history(blocks)
    }
  }

  /// The version of a name: this one, or one that it keeps.
  ///
  /// - Throws: `EngineError.noSuchVersion`, `.damaged`.
  package func record(of name: VersionName) throws -> VersionRecord {
    let history = try history()
    let found: VersionRecord?
    switch name {
    case .number(let number):
      found =
        number == version
        ? record : history.place(of: number).map { history.kept[$0].record }
    case .tag(let tag): found = history.place(tagged: tag).map { history.kept[$0].record }
    case .time(let moment):
      let own = (record, made)
      let all = history.kept.map { ($0.record, $0.made.dateTime) } + [own]
      found = all.last { $0.1.map { $0 <= moment } ?? false }?.0
    }
    guard let found else {
      throw EngineError.noSuchVersion(
        name: name.description, newest: version, kept: history.kept.map(\.record.version))
    }
    return found
  }
}
