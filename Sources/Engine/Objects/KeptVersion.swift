/// A version that the database keeps in addition to the newest, until it is dropped.
///
/// Thread rule: a plain value, `Sendable`.
public struct KeptVersion: Sendable, Equatable {
  /// The number of the version.
  public let number: UInt64
  /// When it was made, to the second; nil when unknown, as for versions from before any was kept.
  public let made: DateTime?
  /// The program's description of the change that created it; empty when there was none, or it is unknown.
  public let madeBy: String
  /// Its tags, each of which names it. A version with a tag is never dropped automatically.
  public let tags: [String]
  /// True for a version that was kept automatically; the oldest of these are dropped when they exceed the
  /// limit.
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
  /// When the version was made; nil when unknown.
  var dateTime: DateTime? {
    let (microseconds, overflow) = secondsSince1970.multipliedReportingOverflow(by: 1_000_000)
    return secondsSince1970 == 0 || overflow ? nil : DateTime(microsecondsSince1970: microseconds)
  }
}

/// A way to name a version.
///
/// Thread rule: a plain value, `Sendable`.
public enum VersionName: Sendable, Equatable, CustomStringConvertible {
  /// The number of the version.
  case number(UInt64)
  /// One of its tags.
  case tag(String)
  /// A moment, for the version that was the newest then, if it is kept.
  case time(DateTime)

  /// - Parameter text: a number; a date-time; a date, for its first moment in UTC; anything else is a tag.
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

  /// The text that names it.
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
  /// The older versions that this one keeps, oldest first. Some may have been dropped later.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: `EngineError.damaged`.
  public var keptVersions: [KeptVersion] { get throws { try history().kept.map(KeptVersion.init) } }

  /// How many versions imports keep automatically; 0: none.
  ///
  /// - Throws: `EngineError.damaged`.
  public var keptVersionsLimit: Int { get throws { Int(try history().limit) } }

  /// When the version was made, to the second; nil when unknown.
  public var made: DateTime? { catalogue.origin.dateTime }

  /// The program's description of the change that created the version; empty when unknown.
  public var madeBy: String { catalogue.origin.what }

  /// - Throws: `EngineError.damaged`.
  package func history() throws -> History {
    try translatingErrors(blocks.storage.path) {
      try VersionRoots(record, blocks).history(blocks)
    }
  }

  /// The version that a name means: this one, or one that this one keeps.
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
