/// Scores how likely bytes are text in an encoding: letters are next to letters of the same script, lowercase
/// letters do not precede capitals, and the letters that are frequent in the languages of the encoding are
/// frequent.
///
/// Scores are per byte, so that encodings with one and with two bytes per character can be compared.
enum TextPlausibility {
  /// The kind of writing that an encoding is for.
  enum Writing {
    /// An alphabet; one byte is a character.
    case narrow
    case japanese, simplified, traditional, korean
  }

  static func score(_ bytes: [UInt8], _ writing: Writing, _ table: CodeTable) -> Double {
    var total = 0.0
    var counts = Counts()
    var (before, previous): (Letter, Letter) = (.other, .other)
    bytes.withUnsafeBytes { bytes in
      var position = 0
      while position < bytes.count {
        let code = table.code(bytes, at: position)
        let length = max(1, code.length)
        let letter = Letter(code.entry)
        if bytes[position] >= 0x80 {
          let next = position + length
          let following =
            next < bytes.count ? Letter(table.code(bytes, at: next).entry) : Letter.other
          if writing == .narrow || length == 1 {
            total += narrow(
              code.entry, letter, previous: previous, before: before, following: following)
          } else {
            let second = position + 1 < bytes.count ? bytes[position + 1] : 0
            total +=
              Double(length)
              * wide(code.entry, lead: bytes[position], second, length, writing, &counts)
          }
        } else if previous.isSmall, previous.isForeign, letter.isCapital {
          total -= 2
        }
        (before, previous) = (previous, letter)
        position += length
      }
    }
    // Japanese text without any kana is Chinese.
    if writing == .japanese, counts.ideographs >= 8, counts.kana == 0 {
      total -= Double(counts.ideographs)
    }
    return total
  }

  private struct Counts {
    var kana = 0
    var ideographs = 0
  }

  // MARK: Alphabets

  /// The properties of a character that matter for its neighbours.
  struct Letter {
    enum Script { case none, latin, greek, cyrillic, hebrew, arabic, thai, katakana }

    var script: Script
    var isSmall = false
    var isCapital = false
    /// Beyond ASCII.
    var isForeign = false
    static let other = Letter(script: .none)

    private init(script: Script) { self.script = script }

    init(_ value: UInt32) {
      guard value >= 0x80 else {
        isSmall = value >= 0x61 && value <= 0x7A
        isCapital = value >= 0x41 && value <= 0x5A
        script = isSmall || isCapital ? .latin : .none
        return
      }
      guard let scalar = Unicode.Scalar(value),
        scalar.properties.isAlphabetic || scalar.properties.generalCategory == .nonspacingMark
      else {
        script = .none
        return
      }
      script =
        switch value {
        case 0xAA, 0xBA: .none
        case ..<0x250, 0x300..<0x370, 0x1E00..<0x1F00: .latin
        case 0x370..<0x400: .greek
        case 0x400..<0x530: .cyrillic
        case 0x590..<0x600: .hebrew
        case 0x600..<0x700: .arabic
        case 0xE00..<0xE80: .thai
        case 0xFF66..<0xFFA0: .katakana
        default: .none
        }
      isSmall = scalar.properties.isLowercase
      isCapital = scalar.properties.isUppercase
      isForeign = true
    }
  }

  private static func narrow(
    _ value: UInt32, _ letter: Letter, previous: Letter, before: Letter, following: Letter
  ) -> Double {
    guard let scalar = Unicode.Scalar(value) else { return -3 }
    guard letter.script != .none else {
      return symbol(scalar, between: previous.script != .none && following.script != .none)
    }
    if letter.script == .katakana { return -0.3 }
    var score = 0.0
    for neighbour in [previous, following] where neighbour.script != .none {
      score += neighbour.script == letter.script ? 0.5 : -3
    }
    if letter.isCapital, previous.isSmall { score -= 3 }
    if letter.isSmall, previous.isCapital, before.isCapital { score -= 2 }
    if letter.script == .latin {
      // Two accented letters in a row are rare.
      if previous.script == .latin, previous.isForeign { score -= 1.5 }
      if accented.contains(scalar) { score += 1 }
    } else {
      if previous.script == .none, following.script == .none { score -= 0.5 }
      score += frequent.contains(scalar) ? 1 : rare.contains(scalar) ? -1 : 0.2
    }
    return score
  }

  private static func symbol(_ scalar: Unicode.Scalar, between isBetween: Bool) -> Double {
    switch scalar.properties.generalCategory {
    case .control, .privateUse, .unassigned, .surrogate: return -6
    default: break
    }
    if scalar == "\u{2019}" || scalar == "\u{AD}" { return 0.3 }
    if isBetween { return -2 }
    return usual.contains(scalar) ? 0.3 : -1
  }

  private static func set(_ text: String) -> Set<Unicode.Scalar> { Set(text.unicodeScalars) }

  /// Accented letters of languages in Latin script with some millions of speakers.
  private static let accented = set(
    "éèàçêùôîûëïœäöüßñáíóúãõåøæÉÈÀÇÊÔÎÄÖÜÑÁÍÓÚÃÕÅØÆ"
      + "ąćęłńśźżčďěňřšťůýžőűăâșşţțğıİ" + "ĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮŽŐŰĂÂȘŞŢȚĞ" + "āēģīķļņūėįų" + "đơưạảấầậ")
  private static let frequent = set(
    "оеаинтсрвлкмдпуяы" + "αοιετνσηυρπκλμςάίόή" + "יולאהרתבשמנ" + "ابتدرسعلمنهويةأف"
      + "านรอกเงวมยลตดสปท่้ี")
  private static let rare = set(
    "ЂЃѓЉЊЌЋЏђљњќћџЅѕЈјѐѝЀЍѪѫ" + "ΐΰϊϋ" + "گژڤڈھںےپچ" + "ฯฺ๏๚๛ฃฅ")
  private static let usual = set("«»“”„‘’–—…€£§°№©®½¼²³±×\u{A0}·•¿¡¥฿،؟")

  // MARK: East Asia

  private static func wide(
    _ value: UInt32, lead: UInt8, _ second: UInt8, _ length: Int, _ writing: Writing,
    _ counts: inout Counts
  ) -> Double {
    guard length == 2, let scalar = Unicode.Scalar(value) else { return -0.5 }
    if marks.contains(scalar) { return 0.7 }
    switch value {
    case 0x3041...0x3096: return kana(1.5, writing, &counts)
    case 0x30A1...0x30FE: return kana(1, writing, &counts)
    case 0xFF01...0xFF5E: return 0.3
    case 0xE000...0xF8FF: return -3
    case 0xAC00...0xD7A3:
      guard writing == .korean else { return -1 }
      if syllables.contains(scalar) { return 1.5 }
      return (0xB0...0xC8).contains(lead) && second >= 0xA1 ? 0.9 : -0.7
    case 0x4E00...0x9FFF: return ideograph(scalar, lead, second, writing, &counts)
    default: return -1
    }
  }

  private static func kana(_ score: Double, _ writing: Writing, _ counts: inout Counts) -> Double {
    counts.kana += 1
    return writing == .japanese ? score : -0.7
  }

  /// National standards list the characters in daily use first.
  private static func ideograph(
    _ scalar: Unicode.Scalar, _ lead: UInt8, _ second: UInt8, _ writing: Writing,
    _ counts: inout Counts
  ) -> Double {
    counts.ideographs += 1
    switch writing {
    case .simplified:
      if simplified.contains(scalar) { return 1.5 }
      guard second >= 0xA1 else { return -1 }
      return (0xB0...0xD7).contains(lead) ? 0.7 : (0xD8...0xF7).contains(lead) ? -0.5 : -1
    case .traditional:
      if traditional.contains(scalar) { return 1.5 }
      return (0xA4...0xC6).contains(lead) ? 0.7 : (0xC9...0xF9).contains(lead) ? -0.5 : -1
    case .japanese:
      // The first level, in Shift JIS and in EUC.
      let isFirst =
        (0x88...0x97).contains(lead) || lead == 0x98 && second < 0x73
        || (0xB0...0xCF).contains(lead)
      return isFirst ? 0.7 : -1
    case .korean: return -1
    case .narrow: return 0
    }
  }

  private static let marks = set("、。，；：「」『』（）《》“”・ー？！…〜～％\u{3000}")
  private static let simplified = set(
    "的一是不了人在有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
      + "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
      + "市区县省路公司名称日月电话男女张王李北京海广州")
  private static let traditional = set(
    "的一是不了人在有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡"
      + "用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實"
      + "市區縣省路公司名稱日月電話男女張王李台灣臺北高雄陳林")
  private static let syllables = set(
    "이다는에의가을하고지로를사한도기은어시자들인리나해그있대서아수일정스구주부제전")
}
