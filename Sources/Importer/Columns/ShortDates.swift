/// Dates of three numbers of at most two digits each: `25.08.18`, `8/25/18`.
///
/// `18/08/03` may be a day of 2003, 2008 or 2018. A number above 12 is not a month; days have more values
/// than years, and lie further apart; and rows are often in order.
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
    var rows: [[Int]] = []
    for field in fields {
      let day = field.prefix { $0 != 0x20 }
      let parts = day.split(separator: separator, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[2].count == 2, day.count == field.count || field.contains(0x3A)
      else { return nil }
      var row: [Int] = []
      for (place, part) in parts.enumerated() {
        // With hyphens, shorter numbers are more likely those of parts and chapters.
        guard part.count == 2 || (part.count == 1 && separator != 0x2D),
          let value = Int(String(decoding: part, as: UTF8.self))
        else {
          return nil
        }
        values[place].insert(value)
        row.append(value)
      }
      rows.append(row)
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
    let mayBeginWithYear =
      !isPoint && fields.allSatisfy { $0.count == 8 } && mayBe(day: 2, month: 1)
    if mayBeginWithYear { possible.append(pattern(["%y", "%m", "%d"])) }
    self.possible = possible
    // A single value does not show which number changes least.
    if fields.count < 2 {
      format = nil
    } else if tells(day: 0, month: 1),
      isPoint ? values[0].count >= values[2].count : values[0].count > values[2].count,
      !mayBeginWithYear || Self.areDays(values[0], not: values[2], rows)
    {
      format = pattern(["%d", "%m", "%y"])
    } else if !isPoint, tells(day: 1, month: 0) {
      format = pattern(["%m", "%d", "%y"])
    } else {
      format = nil
    }
  }

  /// Returns whether the first numbers, of which there are more than of the last, are days and not years.
  private static func areDays(_ first: Set<Int>, not last: Set<Int>, _ rows: [[Int]]) -> Bool {
    func range(_ numbers: Set<Int>) -> Int { (numbers.max() ?? 0) - (numbers.min() ?? 0) }
    // The ends or the beginnings of months by years, which are hardly years before themselves.
    if last.isSubset(of: [1, 28, 29, 30, 31]), last != [1] || first.allSatisfy({ $0 < 28 }) {
      return false
    }
    // A few years in turn, such as 18, 19 and 20, are as likely as a few days.
    let isFarther = last.count == 1 || range(first) >= 4 * range(last)
    let isMore = first.count >= 8 && first.count >= last.count + 3
    guard isFarther || isMore else { return false }
    // Five values or more are hardly in order by accident.
    let byYear = { (a: [Int], b: [Int]) in a.lexicographicallyPrecedes(b) }
    let byDay = { (a: [Int], b: [Int]) in a.reversed().lexicographicallyPrecedes(b.reversed()) }
    return Set(rows).count < 5 || areOrdered(rows, byDay) || !areOrdered(rows, byYear)
  }

  /// Returns whether the rows ascend or descend.
  private static func areOrdered(
    _ rows: [[Int]], _ precedes: ([Int], [Int]) -> Bool
  ) -> Bool {
    let pairs = zip(rows, rows.dropFirst())
    return pairs.allSatisfy { !precedes($1, $0) } || pairs.allSatisfy { !precedes($0, $1) }
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
