import TestSupport
import Testing

@testable import Engine
@testable import Importer

/// The characters of a value exclude formats of dates, never one that would read the value.
@Suite struct SpellingSignsTests {
  private static let values: [String: [String]] = [
    "Y": ["2018", "1999"], "y": ["18"], "m": ["8", "12"], "d": ["3", "31"],
    "B": ["August", "März", "févr."], "b": ["Aug", "juil"], "A": ["Friday"], "a": ["Fri"],
    "H": ["3", "15"], "I": ["3"], "M": ["04"], "S": ["59"], "f": ["5"], "p": ["PM", "am"],
    "z": ["+02:00", "-0200", "Z", "CEST"],
  ]

  /// A value in a format; its day may not exist.
  private static func spelling(_ format: String, _ random: inout SplitMix64) -> String {
    var text = ""
    var rest = format.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "%", let field = rest.popFirst() else {
        text.unicodeScalars.append(scalar)
        continue
      }
      let choices = values[String(field)] ?? ["?"]
      text += choices[Int(random.next() % UInt64(choices.count))]
    }
    return text
  }

  @Test("Signs rule out no format that reads the text, and more than half of all formats")
  func formatsReadWhatTheyFit() {
    var random = SplitMix64(seed: 5)
    var (read, ruledOut) = (0, 0)
    let formats =
      KnownFormats.dates
      + KnownFormats.dateTimes.enumerated()
      .filter { $0.offset % 29 == 0 }.map(\.element)
    let signs = formats.map { FormatSigns($0.text) }
    for _ in 0..<100 {
      let pick = formats[Int(random.next() % UInt64(formats.count))]
      let text = Self.spelling(pick.text, &random)
      let own = SpellingSigns(text.utf8)
      for (format, signs) in zip(formats, signs) {
        let isRead = Array(text.utf8).withUnsafeBytes { format.pattern.reads($0) }
        if isRead { read += 1 }
        if !signs.mayRead(own) { ruledOut += 1 }
        #expect(!isRead || signs.mayRead(own), "'\(text)' as '\(format.text)'")
      }
    }
    #expect(read > 30 && ruledOut > 100 * formats.count / 2, "\(read) \(ruledOut)")
  }

  /// The first fitting format is the same, with exclusion and without.
  @Test func theFirstStaysTheFirst() {
    for text in [
      "03.08.2018 12:30", "August 3, 2018", "2018/08/03 03:45 PM", "3 de agosto de 2018",
      "Fri, 3 Aug 2018 15:45:00 +0200", "03-Aug-18", "2018-08-03 15:45:00 CEST", "3/8/2018 15:45",
      "03-08-2018",
    ] {
      let bytes = Array(text.utf8)
      bytes.withUnsafeBytes { field in
        let fitting = KnownFormats.Fitting(SpellingSigns(field))
        let hasTime = text.contains(":")
        let all = hasTime ? KnownFormats.dateTimes : KnownFormats.dates
        let orders = hasTime ? KnownFormats.orderedDateTimes : KnownFormats.orderedDates
        #expect(
          fitting.certain.first { $0.pattern.reads(field) }?.text
            == all.first { $0.pattern.reads(field) }?.text, "\(text)")
        func fits(_ orders: KnownFormats.Orders) -> Bool {
          orders.dayFirst.pattern.reads(field) || orders.monthFirst.pattern.reads(field)
        }
        #expect(
          fitting.ordered.first(where: fits)?.dayFirst.text
            == orders.first(where: fits)?.dayFirst.text, "\(text)")
        #expect(fitting.certain.count < 400 && fitting.ordered.count < 60)
      }
    }
  }
}
