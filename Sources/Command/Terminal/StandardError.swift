import Base
import Engine

/// Messages for the person rather than for the next program. A message that cannot be written is dropped:
/// there is nowhere left to report it.
///
/// Thread rule: any thread; a line is one write, so lines of several threads do not mix.
enum StandardError {
  /// Prints one line. Control characters (from a file's name or its data) are escaped, so that it stays one
  /// line and cannot command the terminal.
  static func line(_ message: String) {
    text(escaped(message) + "\n")
  }

  /// Prints text as it is.
  static func text(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      try? System.write(2, UnsafeRawBufferPointer(bytes), path: "standard error")
    }
  }

  /// Whether a character acts on the terminal or on the display instead of being shown: controls, marks and
  /// overrides of the direction of writing, separators of lines, the byte-order mark.
  @Sendable static func commandsTerminal(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x2069,
      0xFEFF, 0xFFF9...0xFFFB:
      true
    default: false
    }
  }

  /// The text with all such characters escaped, and bytes of paths that are not text as `\xE9`.
  static func escaped(_ message: String) -> String {
    // Most texts have nothing to escape, and are long where a file has many columns.
    if message.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return message }
    let message = PathText.shown(message)
    var result = ""
    for scalar in message.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where commandsTerminal(scalar):
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
