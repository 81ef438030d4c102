import Engine

/// What is said to the person rather than to the next program. Failures to say it are ignored:
/// there is nowhere left to report them.
///
/// Thread rule: any thread; a line is one write, so lines of several threads do not mix.
enum StandardError {
  /// One line. Control characters (from a file's name or its data) are escaped, so that it stays
  /// one line and cannot command the terminal.
  static func line(_ message: String) {
    text(escaped(message) + "\n")
  }

  /// Text as it is.
  static func text(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      try? System.write(2, UnsafeRawBufferPointer(bytes), path: "standard error")
    }
  }

  static func escaped(_ message: String) -> String {
    var result = ""
    for scalar in message.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
