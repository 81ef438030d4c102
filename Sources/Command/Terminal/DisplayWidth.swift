/// The number of terminal columns that a text takes.
///
/// Two for East Asian wide and full-width characters and for emoji, none for combining marks and invisible
/// characters; after Unicode's annex 11, by ranges of whole blocks.
enum DisplayWidth {
  static func of(_ text: String) -> Int {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  static func of(_ character: Character) -> Int {
    if character.isASCII { return 1 }
    let scalars = character.unicodeScalars
    // Emoji by themselves, those that a variation selector turns into one, and flags.
    if scalars.contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation }) {
      return 2
    }
    if scalars.contains(where: isWide) { return 2 }
    return scalars.allSatisfy(isInvisible) ? 0 : 1
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: true
    default: false
    }
  }

  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C,
    0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
    0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x3FFFD,
  ]

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    wideRanges.contains { $0.contains(scalar.value) }
  }

  /// The text cut to a width, with `…` at the end if a part is missing.
  static func cut(_ text: String, to width: Int) -> String {
    if of(text) <= width { return text }
    var cut = ""
    var taken = 0
    for character in text {
      let next = of(character)
      if taken + next > width - 1 { break }
      cut.append(character)
      taken += next
    }
    return cut + "…"
  }
}
