/// How the bytes of an input stand for text. The raw values are the names of the command line.
///
/// Thread rule: a plain value, `Sendable`.
public enum TextEncoding: String, Sendable, CaseIterable {
  /// The only one that needs no transcoding.
  case utf8 = "utf-8"
  /// ISO 8859-1: every byte is a character.
  case latin1 = "latin1"
  /// Latin 1 with printable characters at 0x80 to 0x9F; 0x81, 0x8D, 0x8F, 0x90 and 0x9D are none.
  case windows1252 = "windows-1252"
  /// UTF-16, the low byte first.
  case utf16LE = "utf-16le"
  /// UTF-16, the high byte first.
  case utf16BE = "utf-16be"

  /// As people write it.
  var displayName: String {
    switch self {
    case .utf8: "UTF-8"
    case .latin1: "Latin 1"
    case .windows1252: "Windows-1252"
    case .utf16LE: "UTF-16LE"
    case .utf16BE: "UTF-16BE"
    }
  }
}
