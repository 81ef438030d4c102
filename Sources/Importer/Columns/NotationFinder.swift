import Engine

/// A possible reading of a column's values, when their classes do not determine it.
struct ReadingCandidate: Sendable, Equatable {
  let reading: Reading
  /// Candidates with one meaning read a spelling as the same value; the first that fits is used. When
  /// candidates with different meanings fit, the meaning of the spellings is unknown.
  let meaning: Int

  init(_ reading: Reading, meaning: Int = 0) {
    self.reading = reading
    self.meaning = meaning
  }

  init(_ notation: Notation, meaning: Int = 0) {
    self.init(Reading(notation.type, notation), meaning: meaning)
  }
}

/// Finds from a sample how a column's values may be read, when their classes do not determine it.
///
/// Every record of the input is checked against the result; the first that does not fit excludes it.
struct NotationFinder {
  /// The formats given by the user, in order.
  let toldFormats: [KnownFormats.Format]
  /// How numbers are spelled, if the user said so.
  let toldNumbers: NumberStyle?
  /// Whether the user said that nothing stands between thousands.
  var hasNoThousands = false
  /// The delimiter of fields: if it is a comma, a field with decimal commas may be a list.
  let delimiter: UInt8
  /// The class of the doubles that the table's column has, which are among the numbers of the input.
  var storedDoubles: TypeSet = []

  /// The readings that fit all fields; none when the classes of the fields determine the column's type.
  func candidates(_ spellings: [[UInt8]]) -> [ReadingCandidate] {
    // Blanks around a value are not part of it.
    let fields = spellings.map(\.withoutBlanks)
    if let toldNumbers, let told = toldNumbers.candidates, Self.fit(told, fields) { return told }
    var classes: TypeSet = []
    for field in fields { classes.formUnion(field.withUnsafeBytes(TypeSet.of)) }
    guard classes.contains(.text) || (!fields.isEmpty && classes.inferredType == .text) else {
      return classes.inferredType == .int ? digitDates(fields) : []
    }
    for find in [
      dates, { shortDates($0) }, times, bools,
      { AmountFinder.candidates($0, told: toldNumbers, hasNoThousands: hasNoThousands) }, wides,
      infinities,
    ] {
      let found = find(fields)
      if !found.isEmpty { return found }
    }
    return toldNumbers == nil ? numbers(fields) : []
  }

  /// How all fields are read; nil when they are text, or have several possible meanings.
  func reading(_ fields: [[UInt8]], refusesPoints: Bool) -> Reading? {
    let candidates = candidates(fields)
    // The last of one meaning is the widest.
    if let last = candidates.last(where: { Self.fit([$0], fields) }) {
      guard candidates.allSatisfy({ $0.meaning == last.meaning }) else { return nil }
      return last.reading
    }
    var classes: TypeSet = []
    for field in fields { classes.formUnion(field.withUnsafeBytes(TypeSet.of)) }
    guard let type = classes.inferredType, type != .text, type != .double || !refusesPoints else {
      return nil
    }
    return Reading(type)
  }

  static func fit(_ candidates: [ReadingCandidate], _ fields: [[UInt8]]) -> Bool {
    candidates.contains { candidate in
      fields.allSatisfy { field in
        field.withUnsafeBytes { Value(spelling: $0, as: candidate.reading) != nil }
      }
    }
  }

  // MARK: Dates

  /// Whole numbers that the user declared to be dates, such as `20180803`. All have as many digits, since
  /// `11111` may be many days.
  private func digitDates(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    guard !toldFormats.isEmpty, fields.allSatisfy({ $0.count == fields.first?.count }) else {
      return []
    }
    return dates(fields)
  }

  /// The formats that occurred, for each order of day and month.
  private struct Found {
    var types: Set<ColumnType> = []
    var dayFirst: [String]? = []
    var monthFirst: [String]? = []
    /// Formats with only one meaning.
    var certain: [String] = []
    var isAmbiguous = false
    /// The formats for the characters of the previous value, which most values of a column share.
    private var known: KnownFormats.Fitting?

    /// - Parameter told: the user's formats: where these have one order, values of the other are no dates.
    init(told: [KnownFormats.Format]) {
      let orders = Set(told.compactMap(\.pattern.isDayFirst))
      if orders == [true] { monthFirst = nil }
      if orders == [false] { dayFirst = nil }
    }

    mutating func formats(for field: UnsafeRawBufferPointer) -> KnownFormats.Fitting {
      let signs = SpellingSigns(field)
      if let known, known.signs == signs { return known }
      let fitting = KnownFormats.Fitting(signs)
      known = fitting
      return fitting
    }

    mutating func take(_ format: KnownFormats.Format) {
      if !certain.contains(format.text) { certain.append(format.text) }
      Self.add(format.text, to: &dayFirst)
      Self.add(format.text, to: &monthFirst)
    }

    mutating func take(_ orders: KnownFormats.Orders, _ field: UnsafeRawBufferPointer) {
      isAmbiguous = true
      for (format, path) in [
        (orders.dayFirst, \Found.dayFirst), (orders.monthFirst, \Found.monthFirst),
      ] {
        if format.pattern.reads(field) {
          Self.add(format.text, to: &self[keyPath: path])
        } else {
          self[keyPath: path] = nil
        }
      }
    }

    private static func add(_ text: String, to list: inout [String]?) {
      if list?.contains(text) == false { list?.append(text) }
    }
  }

  private func dates(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    var found = Found(told: toldFormats)
    for field in fields {
      guard field.withUnsafeBytes({ take($0, &found) }),
        found.dayFirst != nil || found.monthFirst != nil
      else { return [] }
    }
    // Days among moments are the moments at which they begin.
    guard let type: ColumnType = found.types.contains(.dateTime) ? .dateTime : found.types.first
    else { return [] }
    var candidates: [ReadingCandidate] = []
    for (meaning, formats) in [found.dayFirst, found.monthFirst].enumerated() {
      guard let formats, !formats.isEmpty, let notation = try? Notation(type, formats),
        !candidates.contains(where: { $0.reading.notation == notation })
      else { continue }
      candidates.append(ReadingCandidate(notation, meaning: meaning))
    }
    return candidates
  }

  /// Returns false when the field is not a date.
  private func take(_ field: UnsafeRawBufferPointer, _ found: inout Found) -> Bool {
    for format in toldFormats where format.pattern.reads(field) {
      found.types.insert(format.pattern.hasTime ? .dateTime : .date)
      found.take(format)
      return true
    }
    let plain = TypeSet.of(field)
    if plain == .date || plain == .dateTime {
      found.types.insert(plain == .date ? .date : .dateTime)
      return true
    }
    guard KnownFormats.mayRead(field) else { return false }
    let hasTime = field.contains(0x3A)
    let known = found.formats(for: field)
    if let format = known.certain.first(where: { $0.pattern.reads(field) }) {
      found.types.insert(hasTime ? .dateTime : .date)
      found.take(format)
      return true
    }
    guard
      let orders = known.ordered.first(where: {
        $0.dayFirst.pattern.reads(field) || $0.monthFirst.pattern.reads(field)
      })
    else { return false }
    found.types.insert(hasTime ? .dateTime : .date)
    found.take(orders, field)
    return true
  }

  /// Dates with two digits for the year, perhaps with times after them: only when some value shows the order
  /// of the three numbers, and none contradicts it.
  private func shortDates(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    guard let format = ShortDates(fields)?.format else { return [] }
    var formats: [String] = []
    for field in fields {
      let isRead = { (text: String) in
        guard let pattern = try? DatePattern(text) else { return false }
        return field.withUnsafeBytes(pattern.reads)
      }
      if formats.contains(where: isRead) { continue }
      let endings = field.contains(0x3A) ? KnownFormats.times : [""]
      guard let ending = endings.first(where: { isRead(format + $0) }) else { return [] }
      formats.append(format + ending)
    }
    let type: ColumnType = formats == [format] ? .date : .dateTime
    guard let notation = try? Notation(type, formats) else { return [] }
    return [ReadingCandidate(notation)]
  }

  /// The notation of a column that was declared to have dates or date-times: the given formats, or otherwise
  /// those with only one meaning, and those with the order of day and month that the sample proves. The order
  /// of a given format counts also where it has a time and the type has none.
  ///
  /// - Throws: `EngineError.invalidArgument` when a format does not fit the type.
  func strictDates(_ type: ColumnType, _ fields: [[UInt8]]) throws(EngineError) -> Notation? {
    // A date alone is the moment when it begins.
    let types: Set<ColumnType> = type == .dateTime ? [.date, .dateTime] : [.date]
    let told = toldFormats.filter { type == .dateTime || !$0.pattern.hasTime }
    var found = Found(told: toldFormats)
    for field in fields {
      var next = found
      // Others will be rejected.
      if field.withUnsafeBytes({ take($0, &next) }), next.types.isSubset(of: types),
        next.dayFirst != nil || next.monthFirst != nil
      {
        found = next
      }
    }
    var formats = told.map(\.text)
    // All values are ISO 8601: others are then rejected, and columns are searched faster.
    if formats.isEmpty, found.types == [type], found.certain.isEmpty, !found.isAmbiguous {
      return nil
    }
    let isCertain = (found.dayFirst == nil) != (found.monthFirst == nil)
    let met = isCertain ? found.dayFirst ?? found.monthFirst ?? [] : found.certain
    for format in met where !formats.contains(format) { formats.append(format) }
    if type == .date, told.isEmpty {
      for format in KnownFormats.dates where !formats.contains(format.text) {
        formats.append(format.text)
      }
    }
    formats = Array(formats.prefix(Notation.maximumPatterns))
    return formats.isEmpty ? nil : try Notation(type, formats)
  }

  // MARK: Times

  /// Times of day, with two digits for the hour or `AM` and `PM`: `3:45` may be minutes and seconds.
  private func times(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    var formats: [(text: String, pattern: DatePattern)] = []
    for field in fields {
      guard field.count >= 5, field.count <= 16, field.contains(0x3A) else { return [] }
      let isRead = field.withUnsafeBytes { bytes in formats.contains { $0.pattern.reads(bytes) } }
      if isRead { continue }
      let found = KnownFormats.clocks.first { text in
        guard let pattern = try? DatePattern(text, .time), field.withUnsafeBytes(pattern.reads)
        else {
          return false
        }
        formats.append((text, pattern))
        return true
      }
      guard found != nil else { return [] }
    }
    let isCertain = fields.allSatisfy { field in
      field[2] == 0x3A || field.last.map { $0 | 0x20 == 0x6D } ?? false
    }
    guard isCertain, let notation = try? Notation(.time, formats.map(\.text)) else { return [] }
    return [ReadingCandidate(notation)]
  }

  // MARK: Bools

  /// Both words must occur, as `N` alone may mean anything.
  private func bools(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    guard fields.allSatisfy({ $0.count <= 3 }) else { return [] }
    for words in KnownFormats.words {
      guard let notation = try? Notation(.bool, [words]) else { continue }
      let reading = Reading(.bool, notation)
      var seen: Set<Int64> = []
      let fits = fields.allSatisfy { field in
        guard let value = field.withUnsafeBytes(reading.integer) else { return false }
        seen.insert(value)
        return true
      }
      if fits, seen.count == 2 { return [ReadingCandidate(notation)] }
    }
    return []
  }

  // MARK: Decimals and UUIDs

  /// UUIDs, and numbers with more digits than a double keeps, some of them after the point: whole numbers are
  /// more likely identifiers.
  private func wides(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    let identifiers = [ReadingCandidate(.uuid)]
    if fields.allSatisfy({ $0.contains(0x2D) }), Self.fit(identifiers, fields) {
      return identifiers
    }
    let isLong = { (field: [UInt8]) in field.withUnsafeBytes(TypeSet.of) == .longDecimal }
    guard toldNumbers == nil, fields.contains(where: isLong),
      fields.allSatisfy({ field in
        let type = field.withUnsafeBytes(TypeSet.of)
        return type.isSubset(of: [.int, .bigInt, .double])
          || (type == .longDecimal && field.contains(0x2E) && field.last != 0x2E)
      })
    else { return [] }
    let decimals = [ReadingCandidate(Reading(.decimal))]
    return Self.fit(decimals, fields) ? decimals : []
  }

  /// Numbers with infinities among them, which alone may be names, or whole numbers with a point behind them
  /// among numbers with digits behind theirs: alone, `1.` may be the number of an item. Those of the table's
  /// column count.
  private func infinities(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    guard toldNumbers == nil else { return [] }
    var classes = storedDoubles
    var hasPoints = false
    for field in fields {
      let type = field.withUnsafeBytes(TypeSet.of)
      if type == .longDecimal {
        guard let last = field.last, "fy.".utf8.contains(last) else { return [] }
        if last == UInt8(ascii: ".") { hasPoints = true }
      }
      classes.formUnion(type)
    }
    let isMixture =
      classes.contains(.longDecimal)
      && !classes.isDisjoint(with: hasPoints ? .double : [.int, .double])
      && classes.isSubset(of: [.int, .double, .longDecimal])
    return isMixture ? [ReadingCandidate(Reading(.double))] : []
  }

  // MARK: Numbers

  /// How a column's numbers are spelled if its type is fixed; nil: as usual, or unknown.
  func numbers(of type: ColumnType, _ spellings: [[UInt8]]) -> Notation? {
    guard toldNumbers == nil else { return nil }
    let fields = spellings.map(\.withoutBlanks).filter {
      !$0.isEmpty && !MissingValues.isLikelyWord($0)
    }
    let found = numbers(fields)
    guard found.allSatisfy({ $0.meaning == found.first?.meaning }) else { return nil }
    return found.first { $0.reading.type == type }?.reading.notation
  }

  /// Numbers with separators of thousands or a decimal comma, when only one way of reading all of them makes
  /// sense: `1,234` alone may be 1234 or 1.234.
  private func numbers(_ fields: [[UInt8]]) -> [ReadingCandidate] {
    let isNumber = { (byte: UInt8) in
      (byte >= 0x30 && byte <= 0x39) || "+-.,eE".utf8.contains(byte)
    }
    guard fields.contains(where: { $0.contains(0x2C) }),
      fields.allSatisfy({ $0.count <= 32 && $0.allSatisfy(isNumber) })
    else { return [] }
    if hasNoThousands {
      let byComma = NumberStyle(decimal: .comma, thousands: nil).candidates ?? []
      return delimiter != 0x2C && Self.fit(byComma, fields) ? byComma : []
    }
    var candidates = NumberStyle(decimal: .point, thousands: 0x2C).candidates ?? []
    candidates += (NumberStyle(decimal: .comma, thousands: 0x2E).candidates ?? []).filter {
      // 1.234 alone never becomes 1234.
      $0.reading.type == .double
    }.map { ReadingCandidate($0.reading, meaning: 1) }
    // Nor does a point that never occurred count as a separator.
    if !fields.contains(where: { $0.contains(0x2E) }) {
      candidates = candidates.filter { $0.meaning == 0 }
      candidates += (NumberStyle(decimal: .comma, thousands: nil).candidates ?? []).map {
        ReadingCandidate($0.reading, meaning: 1)
      }
    }
    let fitting = candidates.filter { Self.fit([$0], fields) }
    // In a file with commas between fields, apparent decimal commas may be lists.
    if delimiter == 0x2C, !fitting.contains(where: { $0.meaning == 0 }) { return [] }
    return fitting
  }
}

/// How numbers are spelled, as given by the user.
struct NumberStyle: Sendable, Equatable {
  let decimal: ImportOptions.DecimalMark
  /// Nil: none.
  let thousands: UInt8?

  /// True when a double without a notation may become another number.
  var changesPoints: Bool { decimal == .comma }

  private var separator: String {
    thousands.map { String(decoding: [$0], as: UTF8.self) + "234" } ?? ""
  }

  func notation(_ type: ColumnType) -> Notation? {
    if type == .int { return thousands == nil ? nil : try? Notation(.int, ["1" + separator]) }
    if decimal == .point, thousands == nil { return nil }
    return try? Notation(type == .decimal ? .decimal : .double, [example])
  }

  /// The pattern of numbers in this style.
  var example: String { "1" + separator + (decimal == .comma ? ",5" : ".5") }

  /// Whole numbers first. Nil when this is the usual spelling of numbers.
  var candidates: [ReadingCandidate]? {
    let notations = [notation(.int), notation(.double)].compactMap { $0 }
    return notations.isEmpty
      ? nil : notations.map { ReadingCandidate($0) }
  }
}

extension [UInt8] {
  /// A field without the blanks and tabs around it; unchanged when it has nothing else.
  var withoutBlanks: [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    guard let first, let last, isBlank(first) || isBlank(last),
      let start = firstIndex(where: { !isBlank($0) }),
      let end = lastIndex(where: { !isBlank($0) })
    else { return self }
    return Array(self[start...end])
  }
}
