import Engine

/// Bars of characters, for shares of a whole.
struct TextBar {
  /// True when bars may be drawn with eighths of a block; otherwise they consist of `#`.
  let isUnicode: Bool
  /// The width of a full bar, in characters.
  let width: Int

  private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

  /// A bar for `part` of `whole`; at least something when `part` is more than 0.
  func text(_ part: Int, of whole: Int) -> String {
    guard whole > 0, part > 0, width > 0 else { return "" }
    let share = min(1, Double(part) / Double(whole))
    guard isUnicode else {
      return String(repeating: "#", count: max(1, Int((share * Double(width)).rounded())))
    }
    let units = max(1, Int((share * Double(width * 8)).rounded()))
    return String(repeating: "█", count: units / 8) + Self.eighths[units % 8]
  }

  /// True when the locale allows more than ASCII: the first of the three variables that is set decides;
  /// without one, it is the C locale.
  static func allowsUnicode(_ environment: (String) -> String?) -> Bool {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = environment(name), !value.isEmpty else { continue }
      let lower = value.lowercased()
      return lower.hasSuffix("utf-8") || lower.hasSuffix("utf8") || lower.contains("utf-8@")
        || lower.contains("utf8@")
    }
    return false
  }
}
