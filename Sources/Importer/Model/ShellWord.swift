import Base

/// Quotes words of a command for a shell.
package enum ShellWord {
  /// The word, in quotes if a shell needs them.
  package static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
        || "-_./,:=%+@".utf8.contains(byte)
    }
    if plain, !word.isEmpty { return word }
    if PathText.hasBytes(word) { return quotedBytes(word) }
    return inQuotes(word)
  }

  /// The word, always in single quotes.
  package static func inQuotes(_ word: String) -> String {
    "'" + word.replacing(sign: "'", with: "'\\''") + "'"
  }

  /// Quotes a word with bytes that are not text.
  private static func quotedBytes(_ word: String) -> String {
    let parts = word.unicodeScalars.map { scalar in
      if let byte = PathText.byte(scalar) {
        return "\\x" + String(byte, radix: 16, uppercase: true)
      }
      return scalar == "'" || scalar == "\\" ? "\\\(scalar)" : String(scalar)
    }
    return "$'" + parts.joined() + "'"
  }
}
