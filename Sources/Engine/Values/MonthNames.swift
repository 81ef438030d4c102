/// The names of months, whole and short, in the common languages of European tables.
///
/// A word means one month in all of them. Croatian is left out: its `listopad` is October, and in Polish and
/// Czech it is November. `DatePattern` tries English names first.
enum MonthNames {
  private static let words: [[String]] = [
    // German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Danish and Norwegian.
    [
      "januar", "jänner", "jän", "janvier", "janv", "enero", "ene", "gennaio", "gen", "janeiro",
      "januari",
      "stycznia", "styczeń", "sty",
    ],
    [
      "februar", "feber", "février", "févr", "fév", "febrero", "febbraio", "fevereiro", "fev",
      "februari",
      "lutego", "luty", "lut",
    ],
    [
      "märz", "mär", "mrz", "mars", "marzo", "março", "maart", "mrt", "marca", "marzec", "marts",
    ],
    ["avril", "avr", "abril", "abr", "aprile", "kwietnia", "kwiecień", "kwi"],
    ["mai", "mayo", "maggio", "mag", "maio", "mei", "maja", "maj"],
    ["juni", "juin", "junio", "giugno", "giu", "junho", "czerwca", "czerwiec", "cze"],
    ["juli", "juillet", "juil", "julio", "luglio", "lug", "julho", "lipca", "lipiec", "lip"],
    ["août", "aout", "agosto", "ago", "augusti", "augustus", "sierpnia", "sierpień", "sie"],
    [
      "sept", "septembre", "septiembre", "setiembre", "settembre", "set", "setembro", "września",
      "wrzesień", "wrz",
    ],
    [
      "oktober", "okt", "octobre", "octubre", "ottobre", "ott", "outubro", "out", "października",
      "październik", "paź",
    ],
    ["novembre", "noviembre", "novembro", "listopada", "lis"],
    [
      "dezember", "dez", "décembre", "déc", "diciembre", "dic", "dicembre", "dezembro", "desember",
      "grudnia",
      "grudzień", "gru",
    ],
  ]

  /// Russian, Ukrainian and Czech.
  private static let slavic: [[String]] = [
    ["января", "январь", "янв", "leden", "ledna", "січня", "січень"],
    ["февраля", "февраль", "фев", "únor", "února", "лютого", "лютий"],
    ["марта", "март", "мар", "březen", "března", "березня", "березень"],
    ["апреля", "апрель", "апр", "duben", "dubna", "квітня", "квітень"],
    ["мая", "май", "květen", "května", "травня", "травень"],
    ["июня", "июнь", "июн", "červen", "června", "червня", "червень"],
    ["июля", "июль", "июл", "červenec", "července", "липня", "липень"],
    ["августа", "август", "авг", "srpen", "srpna", "серпня", "серпень"],
    ["сентября", "сентябрь", "сен", "сент", "září", "вересня", "вересень"],
    ["октября", "октябрь", "окт", "říjen", "října", "жовтня", "жовтень"],
    ["ноября", "ноябрь", "ноя", "нояб", "listopadu", "листопада", "листопад"],
    ["декабря", "декабрь", "дек", "prosinec", "prosince", "грудня", "грудень"],
  ]

  private static let months = Dictionary(
    (Array(words.enumerated()) + Array(slavic.enumerated())).flatMap { month, words in
      words.map { ($0, month + 1) }
    }
  ) { first, _ in first }

  private static let longest = 18

  /// The month, from 1, whose name is at an index, in any case; nil when there is none. Moves the index
  /// behind the name.
  static func match(_ spelling: SpellingView, _ index: inout Int) -> Int? {
    var end = index
    while end < spelling.count, end &- index <= longest, isLetter(spelling[end]) { end &+= 1 }
    guard end &- index >= 3, end &- index <= longest else { return nil }
    let word = String(decoding: spelling.part(index..<end).bytes, as: UTF8.self).lowercased()
    guard let month = months[word] else { return nil }
    index = end
    return month
  }

  @inline(__always)
  static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x80 || byte | 0x20 &- 0x61 < 26 }
}

/// Short names of time zones that mean one offset everywhere. `EST`, `CST`, `PST`, `BST` and `IST` have
/// several meanings.
enum ZoneNames {
  private static let minutes: [(name: String, minutes: Int)] = [
    ("UTC", 0), ("GMT", 0), ("Z", 0), ("WEST", 60), ("WET", 0), ("CEST", 120), ("CET", 60),
    ("EEST", 180), ("EET", 120), ("MSK", 180), ("JST", 540), ("KST", 540), ("EDT", -240),
    ("MDT", -360),
    ("PDT", -420), ("AKDT", -480), ("AKST", -540), ("HST", -600), ("AEST", 600), ("AEDT", 660),
    ("NZST", 720), ("NZDT", 780),
  ]

  /// The offset of the zone name at an index, in any case; moves the index behind the name.
  static func match(_ spelling: SpellingView, _ index: inout Int) -> Int? {
    for zone in minutes {
      let end = index &+ zone.name.utf8.count
      guard end <= spelling.count else { continue }
      let isSame = zip(index..<end, zone.name.utf8).allSatisfy {
        (spelling[$0] ^ $1) & ~0x20 == 0
      }
      let goesOn = end < spelling.count && spelling[end] | 0x20 &- 0x61 < 26
      if isSame, !goesOn {
        index = end
        return zone.minutes
      }
    }
    return nil
  }
}
