/// Figures that are names: a header of years, dates or numbers, as in transposed tables
/// (`Country,2000,2001,2002`).
enum OrderedNames {
  /// Why the figures in the first record are names; nil when they are values.
  ///
  /// - Parameter typed: the columns whose first cell consists of figures.
  static func reason(_ records: [[String?]], typed: [Int]) -> String? {
    guard let first = records.first, let head = first.first else { return nil }
    let below = records.dropFirst().prefix(HeaderSniffer.sampleRecords)
    if below.isEmpty { return nil }
    let shape = CellShape(head)
    if shape.isTyped { return nil }
    if shape == .empty, numbersColumns(first, below) {
      return "the columns are numbered, behind one without a name"
    }
    // Shares above shares are values like them.
    let isOfShares = typed.contains { CellShape(first[$0]) == .percent }
    if isOfShares,
      below.contains(where: { record in
        typed.contains { $0 < record.count && CellShape(record[$0]) == .percent }
      })
    {
      return nil
    }
    guard let kind = Kind(typed.map { Key(first[$0]) }) else { return nil }
    let keys = below.map { record in typed.map { $0 < record.count ? Key(record[$0]) : nil } }
    // Values that are so ordered in every record, such as years of birth and death, are not names.
    let alike = keys.count { own in Kind(own)?.covers(kind) ?? false }
    guard alike * 2 < below.count, kind.isConvincing(above: keys.flatMap(\.self)) else {
      return nil
    }
    return
      "\(kind.text) in the first record, from '\(first[typed[0]] ?? "")' on, are in an order that "
      + "the records below do not have"
  }

  /// Whether the cells behind the first are 0, 1, 2 and so on, or 1, 2, 3, over records that all have a first
  /// cell.
  private static func numbersColumns(
    _ first: [String?], _ below: ArraySlice<[String?]>
  ) -> Bool {
    var names = first.dropFirst()
    if names.last == .some(nil) { names.removeLast() }
    guard let start = names.first.flatMap({ $0.flatMap { Int($0) } }), start == 0 || start == 1
    else {
      return false
    }
    return names.enumerated().allSatisfy { $1 == String(start + $0) }
      && below.allSatisfy { !CellShape($0.first ?? nil).isBlank }
  }

  /// The key by which a cell is ordered.
  fileprivate struct Key {
    let isDate: Bool
    let isYear: Bool
    /// Nil: it fits anywhere, like `nan`.
    let order: Double?

    init?(_ cell: String?) {
      guard let cell else { return nil }
      let text = cell.filter { $0 != " " && $0 != "\t" }
      switch CellShape(cell) {
      case .number, .money, .percent:
        isDate = false
        let number = Double(text.last == "%" ? String(text.dropLast()) : text)
        order = number.flatMap { $0.isNaN ? nil : $0 }
        isYear = text.utf8.count == 4 && number.map { $0 >= 1000 && $0 < 3000 } ?? false
        if number == nil { return nil }
      case .date:
        isDate = true
        isYear = false
        guard let date = DateOrder.value(cell) else { return nil }
        order = date
      default: return nil
      }
    }
  }

  fileprivate struct Kind {
    enum Values { case years, dates, numbers }
    let values: Values
    let rises: Bool
    private let orders: [Double]
    private let hasUnknown: Bool

    var text: String {
      switch values {
      case .years: "years"
      case .dates: "dates"
      case .numbers: "numbers"
      }
    }

    /// Nil when they are not in a strict order, or too few.
    init?(_ keys: [Key?]) {
      let known = keys.compactMap(\.self)
      let orders = known.compactMap(\.order)
      guard known.count == keys.count, orders.count > 1 else { return nil }
      if known.allSatisfy(\.isDate) {
        values = .dates
      } else if known.allSatisfy(\.isYear) {
        values = .years
      } else if orders.count > 2, !known.contains(where: \.isDate) {
        values = .numbers
      } else {
        return nil
      }
      self.orders = orders
      hasUnknown = orders.count < known.count || orders.contains { $0.isInfinite }
      rises = orders[0] < orders[1]
      let isStrict = zip(orders, orders.dropFirst()).allSatisfy { rises ? $0 < $1 : $0 > $1 }
      guard isStrict else { return nil }
    }

    /// Whether the order is unlikely to be chance, which orders three numbers once in three times: the
    /// columns have values of another kind, or the steps are equal, or there are many.
    func isConvincing(above keys: [Key?]) -> Bool {
      let known = keys.compactMap(\.self)
      switch values {
      case .dates: return !known.contains(where: \.isDate)
      case .years: return hasEqualSteps || known.count(where: \.isYear) * 2 < known.count
      case .numbers:
        let isWhole = orders.allSatisfy { $0 == $0.rounded() }
        let hasFractions = known.contains { key in key.order.map { $0 != $0.rounded() } ?? false }
        return orders.count > 5 || hasUnknown || hasEqualSteps || (isWhole && hasFractions)
      }
    }

    /// Two years count when they are one, five or ten apart.
    private var hasEqualSteps: Bool {
      let steps = zip(orders.dropFirst(), orders).map { $0 - $1 }
      guard let first = steps.first else { return false }
      return steps.count > 1
        ? steps.allSatisfy { abs($0 - first) <= 1e-9 * abs(first) }
        : [1, 5, 10].contains(abs(first))
    }

    /// Whether another kind is ordered in the same way, with values of the same type.
    func covers(_ other: Kind) -> Bool {
      rises == other.rises && (values == other.values || other.values == .numbers)
    }
  }
}

/// Dates as numbers in the order of the dates, when their spelling shows it.
enum DateOrder {
  /// The year, month and day in figures, or a month by its name; nil when there is none.
  static func value(_ cell: String) -> Double? {
    var numbers: [(value: Int, digits: Int)] = []
    var month: Int?
    for part in cell.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
      if let number = Int(part) {
        numbers.append((number, part.utf8.count))
      } else if month == nil {
        month = monthNames.firstIndex(of: String(part.prefix(3)).lowercased()).map { $0 + 1 }
      }
    }
    if let month {
      let year = numbers.first { $0.digits == 4 }?.value ?? numbers.last?.value ?? 0
      let day = numbers.count > 1 ? numbers.first { $0.digits < 3 }?.value ?? 0 : 0
      return ordinal(year, month, day)
    }
    guard numbers.count > 1 else { return nil }
    if cell.contains(":"), numbers[0].digits < 3, !cell.contains("/"), !cell.contains("-") {
      return numbers.reduce(0) { $0 * 60 + Double($1.value) }
    }
    if numbers[0].digits == 4 {
      return ordinal(
        numbers[0].value, numbers[1].value, numbers.count > 2 ? numbers[2].value : 0)
    }
    guard numbers.count > 2 else { return ordinal(numbers[1].value, numbers[0].value, 0) }
    // With points the day comes first, and elsewhere when the second number cannot be a month.
    let isDayFirst = cell.contains(".") || numbers[0].value > 12
    return ordinal(
      numbers[2].value, isDayFirst ? numbers[1].value : numbers[0].value,
      isDayFirst ? numbers[0].value : numbers[1].value)
  }

  private static func ordinal(_ year: Int, _ month: Int, _ day: Int) -> Double {
    Double(year) * 400 + Double(month) * 32 + Double(day)
  }

  private static let monthNames = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
}
