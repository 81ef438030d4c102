/// Makes names of apps: mostly two to four words of a large vocabulary and made-up brands, so that
/// nearly all differ, with the odd decoration that makes parsers work: commas, quotes, emoji,
/// ideographs, and rarely a line end.
enum AppNames {
  /// The longest name, in bytes.
  static let limit = 194

  private enum Pattern: Int, CaseIterable {
    case two, three, four, brand, brandWord, brandTwo, brandColon, brandDash, joined, list, initials
    case possessive, parenthesis, foreign, ideographs, sentence
  }

  private static let patterns = WeightTable([
    60, 170, 60, 50, 120, 100, 60, 70, 110, 45, 55, 25, 30, 22, 7, 16,
  ])

  private static let space = UInt8(ascii: " ")

  /// Appends a name as it is, without CSV's quotes.
  static func append(to name: inout [UInt8], from random: inout RandomSource) {
    let pattern = Pattern(rawValue: patterns.index(at: random.next32())) ?? .three
    if random.chance(60) {
      pick(AppVocabulary.emoji, &name, &random)
      name.append(space)
    }
    append(pattern, &name, &random)
    decorate(&name, &random)
    shorten(&name)
  }

  private static func append(
    _ pattern: Pattern, _ name: inout [UInt8], _ random: inout RandomSource
  ) {
    switch pattern {
    case .two: words(2, &name, &random)
    case .three: words(3, &name, &random)
    case .four: words(4, &name, &random)
    case .brand: brand(&name, &random)
    case .brandWord: branded(" ", 1, &name, &random)
    case .brandTwo: branded(" ", 2, &name, &random)
    case .brandColon: branded(": ", 2 + random.below(3), &name, &random)
    case .brandDash: branded(" - ", 2 + random.below(3), &name, &random)
    case .joined:
      words(1 + random.below(2), &name, &random)
      pick(AppVocabulary.joiners, &name, &random)
      words(1 + random.below(2), &name, &random)
    case .list: list(&name, &random)
    case .initials:
      for _ in 0..<2 { name.append(UInt8(ascii: "A") + UInt8(random.below(26))) }
      name.append(space)
      words(1 + random.below(2), &name, &random)
    case .possessive:
      brand(&name, &random)
      name.append(ascii: "'s ")
      words(2, &name, &random)
    case .parenthesis:
      words(2, &name, &random)
      name.append(ascii: " (")
      words(1, &name, &random)
      name.append(UInt8(ascii: ")"))
    case .foreign:
      for _ in 0...(1 + random.below(2)) {
        pick(AppVocabulary.foreign, &name, &random)
        name.append(space)
      }
      words(1, &name, &random)
    case .ideographs: ideographs(&name, &random)
    case .sentence:
      words(6 + random.below(6), &name, &random)
      name.append(ascii: " - ")
      words(1 + random.below(4), &name, &random)
    }
  }

  // MARK: Parts

  private static func pick(
    _ table: WordTable, _ name: inout [UInt8], _ random: inout RandomSource
  ) {
    table.append(random.below(table.count), to: &name)
  }

  /// Words with spaces between; now and then one is a brand, or written in small letters.
  private static func words(_ count: Int, _ name: inout [UInt8], _ random: inout RandomSource) {
    for index in 0..<count {
      if index > 0 { name.append(space) }
      let start = name.count
      let kind = random.below(100)
      if kind < 12 {
        brand(&name, &random)
      } else {
        pick(AppVocabulary.words, &name, &random)
        if kind >= 96 { name[start] |= 0x20 }
        if kind == 95 { for at in (start + 1)..<name.count { name[at] &= 0xDF } }
      }
    }
  }

  /// A made-up word of two or three syllables, with a capital.
  private static func brand(_ name: inout [UInt8], _ random: inout RandomSource) {
    let start = name.count
    for _ in 0..<(random.chance(3000) ? 3 : 2) {
      pick(AppVocabulary.onsets, &name, &random)
      pick(AppVocabulary.nuclei, &name, &random)
      if random.chance(3600) { pick(AppVocabulary.codas, &name, &random) }
    }
    name[start] &= 0xDF
  }

  private static func branded(
    _ separator: StaticString, _ count: Int, _ name: inout [UInt8], _ random: inout RandomSource
  ) {
    brand(&name, &random)
    name.append(ascii: separator)
    words(count, &name, &random)
  }

  /// `Chat, Call & Share Photos`
  private static func list(_ name: inout [UInt8], _ random: inout RandomSource) {
    words(1 + random.below(2), &name, &random)
    name.append(ascii: ", ")
    words(1, &name, &random)
    name.append(ascii: " & ")
    words(1 + random.below(2), &name, &random)
  }

  private static func ideographs(_ name: inout [UInt8], _ random: inout RandomSource) {
    // Rarely a description as long as the store allows.
    let count = random.chance(500) ? 45 + random.below(25) : 4 + random.below(16)
    for _ in 0..<count { pick(AppVocabulary.ideographs, &name, &random) }
    if random.chance(4000) {
      name.append(space)
      words(1, &name, &random)
    }
  }

  // MARK: Decoration

  private static func decorate(_ name: inout [UInt8], _ random: inout RandomSource) {
    let kind = random.below(10_000)
    switch kind {
    case 0..<2000: pick(AppVocabulary.suffixes, &name, &random)
    case 2000..<2300:
      name.append(space)
      name.append(decimal: UInt64(1 + random.below(999)))
    case 2300..<2400: pick(AppVocabulary.emoji, &name, &random)
    case 2400..<2450: quoteFirstWord(&name)
    case 2450..<2453: breakLine(&name)
    default: break
    }
  }

  private static func quoteFirstWord(_ name: inout [UInt8]) {
    let end = name.firstIndex(of: space) ?? name.count
    name.insert(UInt8(ascii: "\""), at: end)
    name.insert(UInt8(ascii: "\""), at: 0)
  }

  private static func breakLine(_ name: inout [UInt8]) {
    if let at = name.firstIndex(of: space) { name[at] = 0x0A }
  }

  /// Cuts a name at the limit, at the end of a character.
  private static func shorten(_ name: inout [UInt8]) {
    guard name.count > limit else { return }
    var end = limit
    while end > 0, name[end] & 0xC0 == 0x80 { end -= 1 }
    while end > 0, name[end - 1] == space { end -= 1 }
    name.removeSubrange(end...)
  }
}
