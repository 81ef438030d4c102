import Base

/// The encoding of an input: one of five that Sheaf decodes itself, or any other that the system's `iconv`
/// supports and in which ASCII bytes are ASCII characters.
///
/// The raw value is the name in reports: `utf-8`, `windows-1251`, `cp932`.
///
/// Thread rule: a plain value, `Sendable`.
public struct TextEncoding: RawRepresentable, Sendable, Hashable {
  /// The decoder.
  enum Form: UInt8, Sendable {
    case utf8, latin1, windows1252, utf16LE, utf16BE
    /// `iconv` of the system.
    case system
  }

  let form: Form
  /// The name in reports, in lower case.
  public let rawValue: String

  private init(_ form: Form, _ name: String) {
    self.form = form
    rawValue = name
  }

  /// UTF-8, the only encoding that needs no transcoding.
  public static let utf8 = TextEncoding(.utf8, "utf-8")
  /// ISO 8859-1: every byte is a character.
  public static let latin1 = TextEncoding(.latin1, "latin1")
  /// Latin 1 with printable characters at 0x80 to 0x9F, except 0x81, 0x8D, 0x8F, 0x90 and 0x9D.
  public static let windows1252 = TextEncoding(.windows1252, "windows-1252")
  /// UTF-16, low byte first.
  public static let utf16LE = TextEncoding(.utf16LE, "utf-16le")
  /// UTF-16, high byte first.
  public static let utf16BE = TextEncoding(.utf16BE, "utf-16be")

  /// The encodings that Sheaf decodes without the system.
  public static let builtIn: [TextEncoding] = [utf8, latin1, windows1252, utf16LE, utf16BE]

  /// The names of common encodings, for completion in a shell; there are more.
  package static var usualNames: [String] { EncodingNames.suggested }

  /// Returns whether the system has an encoding of this name, readable or not.
  package static func isKnown(_ name: String) -> Bool {
    let canonical = EncodingNames.canonical(name)
    return builtIn.contains { $0.rawValue == canonical }
      || EncodingNames.converter(canonical) != nil
  }

  /// The encoding with a name; nil when `init(named:)` would throw.
  public init?(rawValue: String) {
    guard let encoding = try? TextEncoding(named: rawValue) else { return nil }
    self = encoding
  }

  /// The encoding with a name, in upper or lower case, with or without dashes: the names of `iconv -l`, and
  /// common other names (`sjis`, `latin-9`, `ms932`). Names that browsers use for a larger set of the same
  /// characters mean that set here too: `shift_jis` is `cp932`, `gb2312` and `gbk` are `gb18030`, `euc-kr` is
  /// `cp949`, `big5` is `big5-hkscs`.
  ///
  /// - Throws: `ImportError.invalidOption` for an unknown name, and for an encoding in which ASCII bytes may
  ///   be other characters or the meaning of a byte depends on earlier ones.
  /// - Complexity: for encodings of the system some thousand calls of `iconv`, which take milliseconds.
  public init(named name: String) throws(ImportError) {
    let canonical = EncodingNames.canonical(name)
    if let known = Self.builtIn.first(where: { $0.rawValue == canonical }) {
      self = known
      return
    }
    let encoding = TextEncoding(.system, canonical)
    guard let converter = encoding.converter else { throw EncodingNames.unknown(name) }
    if let problem = EncodingNames.problem(converter) {
      throw .invalidOption(
        "encoding '\(name)' is not read: \(problem); convert the input first, with "
          + "'iconv -f \(name) -t UTF-8'")
    }
    self = encoding
  }

  /// An encoding whose canonical name and properties are known, so that the system is not tested again.
  init(tried name: String) {
    self = Self.builtIn.first { $0.rawValue == name } ?? TextEncoding(.system, name)
  }

  /// The system's converter; nil for a built-in encoding, and when the system's module is missing.
  var converter: CharacterConverter? {
    form == .system ? EncodingNames.converter(rawValue) : nil
  }

  /// The usual spelling of the name.
  var displayName: String {
    switch form {
    case .utf8: "UTF-8"
    case .latin1: "Latin 1"
    case .windows1252: "Windows-1252"
    case .utf16LE: "UTF-16LE"
    case .utf16BE: "UTF-16BE"
    case .system:
      rawValue.hasPrefix("windows") ? "W" + rawValue.dropFirst() : rawValue.uppercased()
    }
  }
}
