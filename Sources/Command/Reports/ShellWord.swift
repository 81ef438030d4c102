import Base

/// Words of a command as a shell takes them.
enum ShellWord {
  /// The word as a shell takes it.
  static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
        || "-_./,:=%+@".utf8.contains(byte)
    }
    if plain, !word.isEmpty { return word }
    if PathText.hasBytes(word) { return quotedBytes(word) }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
      + "'"
  }

  /// The same for a word with bytes that are no text.
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
