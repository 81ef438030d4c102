/// A number and about 1 kB of prose, with commas, quotes, line ends and letters beyond ASCII.
struct TextRows: SampleRows {
  let header = "id,text\n"

  private var random: RandomSource
  private var row: UInt64 = 0

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
  }

  mutating func appendRow(to buffer: inout [UInt8]) {
    row &+= 1
    buffer.append(decimal: row)
    buffer.append(ascii: ",\"")
    let end = buffer.count + 500 + random.below(1000)
    var isFirst = true
    while buffer.count < end {
      if !isFirst { buffer.append(random.chance(600) ? 0x0A : UInt8(ascii: " ")) }
      isFirst = false
      sentence(&buffer)
    }
    buffer.append(ascii: "\"\n")
  }

  private mutating func sentence(_ buffer: inout [UInt8]) {
    let start = buffer.count
    let count = 4 + random.below(14)
    for index in 0..<count {
      if index > 0 { buffer.append(ascii: random.chance(900) ? ", " : " ") }
      word(&buffer)
    }
    if (0x61...0x7A).contains(buffer[start]) { buffer[start] &= 0xDF }
    buffer.append(ascii: random.chance(800) ? "?" : ".")
  }

  /// Every other word is one of the few short and frequent words of the language.
  private mutating func word(_ buffer: inout [UInt8]) {
    let kind = random.below(1000)
    if kind < 440 {
      let common = Self.common.count
      Self.common.append(random.below(1 + random.below(common)), to: &buffer)
    } else if kind < 470 {
      buffer.append(decimal: UInt64(random.below(1 + random.below(3000))))
    } else if kind < 490 {
      AppVocabulary.foreign.append(random.below(AppVocabulary.foreign.count), to: &buffer)
    } else {
      let isQuoted = kind < 500
      if isQuoted { buffer.append(ascii: "\"\"") }
      let start = buffer.count
      AppVocabulary.words.append(random.below(AppVocabulary.words.count), to: &buffer)
      buffer[start] |= 0x20
      if kind > 880 { buffer.append(contentsOf: Self.endings[kind % 4]) }
      if isQuoted { buffer.append(ascii: "\"\"") }
    }
  }

  private static let endings: [[UInt8]] = ["s", "s", "s", "like"].map { Array($0.utf8) }

  private static let common = WordTable(
    text: """
      the of and to a in is it that for was on are as with his they at be this from have or by one \
      had not but what all were when we there can an your which their said if do will each about \
      how up out them then she many some so these would other into has more her two like him see \
      could no make than first been its who now people my made over did down only way find use may
      """)
}
