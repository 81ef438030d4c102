import Engine

/// The forms of dates and date-times that are recognized without an option.
///
/// Each has only one meaning, except those with day and month as numbers before the year and `/` or `-`
/// between them. With points between them the day always comes first.
enum KnownFormats {
  struct Format: Sendable {
    let text: String
    let pattern: DatePattern

    init?(_ text: String) {
      guard let pattern = try? DatePattern(text) else { return nil }
      self.text = text
      self.pattern = pattern
    }
  }

  /// One spelling under each of the two orders.
  struct Orders: Sendable {
    let dayFirst: Format
    let monthFirst: Format
  }

  private static let certainDays = [
    "%Y/%m/%d", "%Y.%m.%d", "%B %d, %Y", "%B %d %Y", "%d %B %Y", "%d %B, %Y", "%d-%b-%Y",
    "%d/%b/%Y", "%d-%b-%y", "%d %b %y", "%d.%m.%Y", "%A, %B %d, %Y", "%a, %d %b %Y", "%A, %d %B %Y",
    "%d. %B %Y", "%d de %B de %Y", "%b. %d, %Y", "%d %b. %Y", "%a %b %d %Y",
  ]
  /// The year behind the time, as C's `ctime`, `date` and many logs write it.
  private static let yearsAtEnd = [
    "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%b %d %H:%M:%S %Y",
  ]
  private static let orderedDays = [
    ("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"),
  ]
  static let clocks = [
    "%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%I:%M:%S%p", "%I:%M%p", "%H:%M:%S.%f",
  ]

  /// The endings after a day.
  private static let endings = [" ", "T", ":", ", "].flatMap { separator in
    clocks.flatMap { time in ["", "%z", " %z"].map { separator + time + $0 } }
  }

  /// The endings after a day that begin with a blank.
  static let times = endings.filter { $0.hasPrefix(" ") }

  static let dates = certainDays.compactMap { Format($0) }
  static let orderedDates = orderedDays.compactMap { orders($0, "") }
  static let dateTimes = dateTimeTexts.compactMap { Format($0.text) }
  static let orderedDateTimes = orderedDateTimeTexts.compactMap { orders($0.days, $0.ending) }

  /// The texts of formats with a time, and the characters of the spellings that they read. Patterns are made
  /// of them only when needed, since making all of them takes longer than most columns need.
  private static let dateTimeTexts =
    ((["%Y-%m-%d"] + certainDays).flatMap { day in endings.map { day + $0 } } + yearsAtEnd)
    .map { (text: $0, signs: FormatSigns($0)) }
  private static let orderedDateTimeTexts = orderedDays.flatMap { days in
    endings.map { (days: days, ending: $0, signs: FormatSigns(days.0 + $0)) }
  }

  /// The formats that may read values with some characters, in the order in which they are tried.
  struct Fitting {
    let signs: SpellingSigns
    let certain: [Format]
    let ordered: [Orders]

    init(_ signs: SpellingSigns) {
      self.signs = signs
      if signs.contains(.colon) {
        certain = dateTimeTexts.filter { $0.signs.mayRead(signs) }.compactMap { Format($0.text) }
        ordered = orderedDateTimeTexts.filter { $0.signs.mayRead(signs) }
          .compactMap { orders($0.days, $0.ending) }
      } else {
        certain = dates.filter { FormatSigns($0.text).mayRead(signs) }
        ordered = orderedDates.filter { FormatSigns($0.dayFirst.text).mayRead(signs) }
      }
    }
  }

  private static func orders(_ days: (String, String), _ ending: String) -> Orders? {
    guard let dayFirst = Format(days.0 + ending), let monthFirst = Format(days.1 + ending) else {
      return nil
    }
    return Orders(dayFirst: dayFirst, monthFirst: monthFirst)
  }

  /// Returns false for most texts that are not dates in any of these forms.
  static func mayRead(_ field: UnsafeRawBufferPointer) -> Bool {
    guard field.count >= 8, field.count <= 48, let first = field.first else { return false }
    // The first letters of months and weekdays.
    let isDigit = first >= 0x30 && first <= 0x39
    return (isDigit || "jfmasondtw".utf8.contains(first | 0x20))
      && field.contains { $0 >= 0x30 && $0 <= 0x39 }
  }

  /// Pairs of words for true and false.
  static let words = ["yes/no", "y/n", "t/f", "on/off"]
  /// Further pairs for a column that was declared to have booleans.
  static let toldWords = words + ["1/0"]
}
