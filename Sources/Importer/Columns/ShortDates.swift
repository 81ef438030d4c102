/// Dates of three numbers of at most two digits each: `25.08.18`, `8/25/18`.
///
/// `18/08/03` may be a day of 2003, 2008 or 2018. A number above 12 is not a month; and in many rows, days
/// have more values than years.
struct ShortDates {
  /// The order of the three numbers, as a `DatePattern`; nil when the values do not show it.
  let format: String?
  /// Every order in which all values are dates.
  let possible: [String]

  /// Nil when some field is not such a date, in any order.
  init?(_ fields: [[UInt8]]) {
    guard
      let separator = fields.first?.first(where: { $0 == 0x2E || $0 == 0x2F || $0 == 0x2D })
    else { return nil }
    var values: [Set<Int>] = [[], [], []]
    for field in fields {
      let day = field.prefix { $0 != 0x20 }
      let parts = day.split(separator: separator, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[2].count == 2, day.count == field.count || field.contains(0x3A)
      else { return nil }
      for (place, part) in parts.enumerated() {
        // With hyphens, shorter numbers are more likely those of parts and chapters.
        guard part.count == 2 || (part.count == 1 && separator != 0x2D),
          let value = Int(String(decoding: part, as: UTF8.self))
        else {
          return nil
        }
        values[place].insert(value)
      }
    }
    let mark = String(decoding: [separator], as: UTF8.self)
    func tells(day: Int, month: Int) -> Bool {
      values[month].allSatisfy { (1...12).contains($0) }
        && values[day].allSatisfy { (1...31).contains($0) }
        && values[day].contains { $0 > 12 }
    }
    func mayBe(day: Int, month: Int) -> Bool {
      values[month].allSatisfy { (1...12).contains($0) }
        && values[day].allSatisfy { (1...31).contains($0) }
    }
    func pattern(_ fields: [String]) -> String { fields.joined(separator: mark) }
    // With points the day always comes first; otherwise the year may.
    let isPoint = separator == 0x2E
    var possible: [String] = []
    if mayBe(day: 0, month: 1) { possible.append(pattern(["%d", "%m", "%y"])) }
    if !isPoint, mayBe(day: 1, month: 0) { possible.append(pattern(["%m", "%d", "%y"])) }
    if !isPoint, fields.allSatisfy({ $0.count == 8 }), mayBe(day: 2, month: 1) {
      possible.append(pattern(["%y", "%m", "%d"]))
    }
    self.possible = possible
    // A single value does not show which number changes least.
    if fields.count < 2 {
      format = nil
    } else if tells(day: 0, month: 1),
      isPoint ? values[0].count >= values[2].count : values[0].count > values[2].count
    {
      format = pattern(["%d", "%m", "%y"])
    } else if !isPoint, tells(day: 1, month: 0) {
      format = pattern(["%m", "%d", "%y"])
    } else {
      format = nil
    }
  }

  /// A hint about a column that stays text because its dates have several possible meanings; nil when there
  /// is none.
  static func hint(_ spellings: [[UInt8]], _ name: String) -> String? {
    // Texts, as a rule: a date has figures.
    guard let any = spellings.first(where: { !MissingValues.isLikelyWord($0) }),
      any.contains(where: { 0x30...0x39 ~= $0 })
    else { return nil }
    let fields = spellings.filter { !MissingValues.isLikelyWord($0) }
    guard let first = fields.first, let dates = ShortDates(fields.map(\.withoutBlanks)),
      dates.format == nil, let format = dates.possible.first
    else { return nil }
    let orders = dates.possible.dropFirst().map { " or '\($0)'" }.joined()
    let ending = first.contains(0x3A) ? ", with the time behind it," : ""
    return
      "it is text, since dates such as '\(String(decoding: first, as: UTF8.self))' do not show which "
      + "number is the day; --date-format '\(ColumnList.escaped(name)):\(format)'\(orders)\(ending) says it"
  }
}
