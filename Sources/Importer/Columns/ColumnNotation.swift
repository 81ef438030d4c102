import Engine

/// How a column of an input is read: as the options say, or as a sample of its values suggests.
struct ColumnNotation {
  /// The type that the user gave; nil: inferred.
  private(set) var strictType: ColumnType?
  private(set) var strictNotation: Notation?
  private(set) var candidates: [ReadingCandidate] = []
  private(set) var refusesPoints: Bool
  /// True when that is so because other columns have decimal commas.
  private(set) var doubtsPoints = false
  /// True when the user said how numbers are spelled.
  let isToldNumbers: Bool
  /// True when the user gave the type.
  private(set) var isTypeTold = false
  /// True when the user gave the spelling of the strict type's values.
  private(set) var isTold = false
  /// Spellings of null, in addition to those of the options.
  private(set) var missing: MissingValues?
  /// True when the values are texts even if they resemble another type.
  private(set) var keepsText = false
  /// True when the values resemble ints, and are dates by a format that the user gave.
  private(set) var hasDigitDates = false
  /// True when it is text because nothing says otherwise: neither the user nor the table.
  private(set) var isGuessedText = false
  /// A hint for the user about the column.
  private(set) var hint: String?

  /// - Parameters:
  ///   - name: the name in the table.
  ///   - isKey: whether it is the primary key, which is compared by its spelling and so has no notation.
  ///   - sample: the values of the first records.
  ///   - stored: the existing column, if it has values or a fixed type.
  ///   - unused: the existing column otherwise.
  ///   - isCompared: whether a rule compares it, so that later values do not change its type.
  ///   - server: what the first records show, if the type is that of a server's column.
  /// - Throws: `ImportError.invalidOption`.
  init(
    _ name: String, _ options: ImportOptions, delimiter: UInt8, isKey: Bool,
    sample known: FieldSample.ColumnSample, stored: Column? = nil, unused: Column? = nil,
    isCompared: Bool = false, server: ServerSpelling? = nil
  ) throws(ImportError) {
    let sample = known.fields
    let numbers = try Self.numbers(options)
    refusesPoints = numbers?.changesPoints ?? false && options.types != .text
    isToldNumbers = numbers != nil || options.hasNoThousands
    let own = options.dateFormats.filter { $0.column == name }
    let told = try Self.formats(own.isEmpty ? options.dateFormats.filter { $0.column == nil } : own)
    let finder = NotationFinder(
      toldFormats: told, toldNumbers: numbers, hasNoThousands: options.hasNoThousands,
      delimiter: delimiter, storedDoubles: stored?.plainDoubles ?? [])
    switch options.types {
    case .text: strictType = own.isEmpty ? .text : nil
    case .infer: break
    case .named(let types): strictType = types[name]
    }
    if !own.isEmpty { strictType = try Self.datesType(name, strictType, told, own[0].format) }
    isTypeTold = strictType != nil
    if let stored, !isKey {
      let spelling = ToldSpelling(
        numbers: numbers, hasNoThousands: options.hasNoThousands, formats: told)
      // Of a type that is given as well, the notations are compared.
      try strictType == nil ? spelling.check(sample, stored) : spelling.checkOrder(sample, stored)
    }
    if isKey {
      guard own.isEmpty else { throw Self.formattedKey(name) }
      keepsText =
        TelephoneNumber.areThese(sample)
        || sample.contains { $0.withUnsafeBytes(\.hasBlanksAround) }
      if isCompared, strictType == nil {
        keep(stored?.reading ?? (keepsText ? .text : Reading(Self.plainType(sample))), name)
      }
      return
    }
    if let strictType {
      strictNotation = try Self.strict(strictType, finder, sample)
      isTold =
        [.int, .double, .decimal].contains(strictType)
        ? numbers != nil
        : told.contains { !own.isEmpty || $0.pattern.hasTime == (strictType == .dateTime) }
      take(server, as: strictType, known, finder, name)
    } else if TelephoneNumber.areThese(sample) {
      keepsText = true
    } else if let missing = MissingValues(
      known, finder, refusesPoints: refusesPoints, stored: stored)
    {
      (self.missing, hint) = (missing, missing.note(name))
      let reading = missing.reading
      if reading.notation != nil || !reading.type.hasClasses || missing.hasInfinities {
        (strictType, strictNotation) = (reading.type, reading.notation)
      }
    } else {
      candidates = finder.candidates(sample)
      hasDigitDates =
        candidates.contains { [.date, .dateTime].contains($0.reading.type) }
        && Self.plainType(sample) == .int
      if candidates.isEmpty { hint = Self.hint(name, sample, stored: stored?.type) }
    }
    guard isCompared, strictType == nil else { return }
    // A column without a value stays what it is.
    let before = stored?.reading ?? (sample.allSatisfy(\.isEmpty) ? unused?.reading : nil)
    let found = missing?.reading ?? finder.reading(sample, refusesPoints: refusesPoints) ?? .text
    isGuessedText = before == nil && !keepsText && found == .text
    keep(before ?? (keepsText ? .text : found), name)
  }

  private static func formattedKey(_ name: String) -> ImportError {
    .invalidOption(
      "column '\(name)' is the key, which is compared as it is spelled: leave out its --date-format"
    )
  }

  /// Takes what the first records show beside the type.
  private mutating func take(
    _ server: ServerSpelling?, as type: ColumnType, _ sample: FieldSample.ColumnSample,
    _ finder: NotationFinder, _ name: String
  ) {
    if let server {
      strictNotation =
        server.notation(beside: strictNotation) ?? finder.numbers(of: type, sample.fields)
      (missing, hint) = (server.missing, server.hint)
    }
    guard missing == nil, sample.quotesEmptyFields, sample.fields.contains([]) else { return }
    missing = MissingValues(emptyIn: Reading(type, strictNotation))
    let notes = [hint, missing?.note(name)].compactMap(\.self)
    hint = notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  /// The type of a column that has date formats of its own.
  private static func datesType(
    _ name: String, _ strict: ColumnType?, _ told: [KnownFormats.Format], _ format: String
  ) throws(ImportError) -> ColumnType {
    let type: ColumnType = told.contains { $0.pattern.hasTime } ? .dateTime : .date
    guard strict == nil || strict == type || strict == .dateTime else {
      throw .invalidOption(
        "column '\(name)' is told to be \(strict?.article ?? ""), and to have the date format '\(format)'"
      )
    }
    return strict ?? type
  }

  /// The column with only the candidates of a meaning.
  func keeping(meaning: Int) -> ColumnNotation {
    var kept = self
    kept.candidates = candidates.filter { $0.meaning == meaning }
    return kept
  }

  /// Takes bools and moments as values of a query, which are spelled canonically for a column without a
  /// notation.
  mutating func takeQueried(_ type: ColumnType) {
    if [.bool, .dateTime].contains(type), strictType == type { strictNotation = nil }
  }

  /// The column as text, whatever its values look like.
  func asText(hint: String) -> ColumnNotation {
    var text = self
    (text.candidates, text.keepsText, text.missing, text.hint) = ([], true, nil, hint)
    return text
  }

  /// The column of whole numbers, in which a value with a point is no number, as other columns have decimal
  /// commas.
  ///
  /// - Parameter hasSome: whether its first values have such points, so that it becomes text.
  func doubtingPoints(hasSome: Bool) -> ColumnNotation {
    var numbers = self
    (numbers.refusesPoints, numbers.doubtsPoints) = (true, true)
    if hasSome {
      (numbers.missing, numbers.hint) = (nil, nil)
    } else {
      numbers.missing?.refusePoints()
    }
    return numbers
  }

  /// Orders records by the column (`--newer-than`): says when it is taken for text, by whose order 10 is
  /// older than 9.
  ///
  /// - Throws: `ImportError.invalidOption` when the column may be of another type, but has no value yet.
  mutating func order(
    _ name: String, _ sample: FieldSample.ColumnSample
  ) throws(ImportError) {
    guard isGuessedText else { return }
    let types = ColumnList.types(name, "TYPE")
    if sample.fields.allSatisfy(MissingValues.isLikelyWord) {
      if sample.isWhole { return }
      throw .invalidOption(
        "--newer-than \(ShellWord.quoted(name)): the first records have no value there, so that its type is "
          + "not known, nor the order of its values: \(types) says it")
    }
    let note =
      "it is text, and --newer-than compares it as such: \(types) gives it another order"
    hint = hint.map { $0 + "; " + note } ?? note
  }

  /// Keeps the current type, whatever values follow.
  private mutating func keep(_ reading: Reading, _ name: String) {
    (strictType, strictNotation) = (reading.type, reading.notation)
    (candidates, keepsText) = ([], false)
    if reading.type == .text { return }
    let note =
      "it is taken as \(reading.type.name), as --where, --check or --newer-than compares it: other values "
      + "are rejected; \(ColumnList.types(name, "TYPE")) gives it another type"
    hint = hint.map { $0 + "; " + note } ?? note
  }

  /// The type of values that have no notation.
  private static func plainType(_ sample: [[UInt8]]) -> ColumnType {
    var classes: TypeSet = []
    for field in sample { classes.formUnion(field.withUnsafeBytes(TypeSet.of)) }
    return classes.inferredType ?? .text
  }

  private static func numbers(_ options: ImportOptions) throws(ImportError) -> NumberStyle? {
    guard options.decimalMark != nil || options.thousandsSeparator != nil else { return nil }
    let separator = options.thousandsSeparator
    let mark = options.decimalMark ?? (separator == 0x2E ? .comma : .point)
    let style = NumberStyle(decimal: mark, thousands: separator)
    guard separator != (mark == .comma ? 0x2C : 0x2E) else {
      throw .invalidOption("--decimal and --thousands cannot be the same")
    }
    guard style.candidates != nil || (mark == .point && separator == nil) else {
      throw .invalidOption(
        "--thousands is one of , . ' _ and space, so that it cannot be taken for something else")
    }
    return style
  }

  private static func formats(
    _ told: [ImportOptions.DateFormat]
  ) throws(ImportError) -> [KnownFormats.Format] {
    var formats: [KnownFormats.Format] = []
    for format in told {
      do {
        let type: ColumnType = try DatePattern(format.format).hasTime ? .dateTime : .date
        _ = try Notation(type, [format.format])
        if let known = KnownFormats.Format(format.format) { formats.append(known) }
      } catch let problem as DatePattern.Problem {
        throw .invalidOption("--date-format '\(format.format)' cannot be used: \(problem.reason)")
      } catch {
        throw .invalidOption("--date-format: \(error)")
      }
    }
    return formats
  }

  private static func strict(
    _ type: ColumnType, _ finder: NotationFinder, _ sample: [[UInt8]]
  ) throws(ImportError) -> Notation? {
    switch type {
    case .text, .data, .uuid: return nil
    case .decimal:
      return AmountFinder.likely(
        sample, told: finder.toldNumbers, hasNoThousands: finder.hasNoThousands)
        ?? finder.toldNumbers?.notation(.decimal)
    case .int, .double: return finder.toldNumbers?.notation(type)
    case .bool: return try? Notation(.bool, KnownFormats.toldWords)
    case .time:
      let isPlain = sample.allSatisfy {
        $0.withUnsafeBytes { Value(spelling: $0, as: .time) != nil }
      }
      return isPlain ? nil : try? Notation(.time, KnownFormats.clocks)
    case .date, .dateTime:
      do {
        return try finder.strictDates(type, sample)
      } catch {
        throw .invalidOption("--date-format: \(error)")
      }
    }
  }

  /// A hint at the option that would give a column of text a type: many words that often mean null, while the
  /// rest has a type; or dates with several possible meanings. A column that the table stores as text gets no
  /// hint, since no option changes it.
  private static func hint(_ name: String, _ sample: [[UInt8]], stored: ColumnType?) -> String? {
    if stored == .text { return nil }
    return hintOfWords(sample) ?? (stored == nil ? ShortDates.hint(sample, name) : nil)
  }

  private static func hintOfWords(_ sample: [[UInt8]]) -> String? {
    guard let word = sample.first(where: MissingValues.isLikelyWord) else { return nil }
    var classes: TypeSet = []
    for field in sample where !MissingValues.isLikelyWord(field) {
      classes.formUnion(field.withUnsafeBytes(TypeSet.of))
    }
    guard let type = classes.inferredType, type != .text else { return nil }
    let text = String(decoding: word, as: UTF8.self)
    return "it is text because of values such as \(text); with --null '\(text)' it may be "
      + type.article
  }
}

/// A column of a table whose values stay.
struct StoredColumn {
  let column: Column
  /// The classes of its values.
  let classes: TypeSet
  /// True when some integers may be larger than a double can represent.
  let mayHaveLargeIntegers: Bool
  private let table: TableContents
  private let id: UInt32

  init(_ table: TableContents, _ index: Int) throws {
    self.table = table
    column = table.schema.columns[index]
    id = table.schema.columnIDs[index]
    classes = try table.classes(ofColumn: index)
    mayHaveLargeIntegers = !classes.isEmpty && table.mayHaveLargeIntegers(inColumn: index)
  }

  /// Returns whether every value is the same under another reading; for a text column, whether every value
  /// fits that reading.
  func agrees(with reading: Reading) throws -> Bool {
    if reading == column.reading { return true }
    // Canonical dates and booleans are read equally under every notation.
    let isNumber = [.int, .double, .decimal].contains(column.type)
    if column.notation == nil, reading.type == column.type, !isNumber { return true }
    var agrees = true
    let decoded = DecodedColumn()
    try table.source.walkLeaves { leaf in
      try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
      for row in 0..<leaf.rowCount where agrees {
        guard let spelling = decoded[row] else { continue }
        let value = Value(spelling: spelling, as: reading)
        agrees =
          column.type == .text
          ? value != nil
          : Self.areSame(Value(spelling: spelling, as: column.reading), value)
      }
      return agrees
    }
    return agrees
  }

  /// Returns whether a value is the same number as before, perhaps as one of a wider type.
  private static func areSame(_ before: Value?, _ value: Value?) -> Bool {
    switch (before, value) {
    case (.int(let number), .double(let double)): Double(exactly: number) == double
    case (.int(let number), .decimal(let decimal)):
      ExactDecimal(coefficient: Int128(number), scale: 0) == decimal
    default: before == value
    }
  }
}

extension ColumnTypes.State {
  /// Facts about a column apart from its values.
  struct Origin {
    /// An import guessed its type. Otherwise a user has chosen it, and it is at most widened.
    let isGuessed: Bool
    /// The user gave the spelling of the strict type's values.
    let isTold: Bool
    /// An earlier run of this import has written values of it.
    let isResuming: Bool
    /// It is the primary key.
    var isKey = false
  }

  /// Adjusts to the table's column.
  ///
  /// - Parameter stored: the column with its values; nil when it has none, or will be emptied.
  /// - Throws: `ImportError.invalidOption` when a strict type differs from that of the existing values.
  mutating func fit(_ column: Column, _ stored: StoredColumn?, _ origin: Origin) throws {
    if let strict = strictType {
      guard let stored, strict != .text else { return }
      // What was guessed without a value is no type.
      if stored.classes.isEmpty, origin.isGuessed { return }
      guard strict == column.type else {
        throw ImportError.invalidOption(
          "column '\(column.name)' of the table is \(column.type.name), not \(strict.name): "
            + "leave it out of --types, change the table's with sheaf alter --type, or use --truncate"
        )
      }
      if stored.classes.isEmpty { return }
      if let notation = column.notation, !origin.isTold {
        strictNotation = notation
        return
      }
      guard try stored.agrees(with: Reading(strict, strictNotation)) else {
        throw ImportError.invalidOption(
          "the values in column '\(column.name)' of the table are spelled "
            + "'\(column.notation?.description ?? strict.name)', and would be read as others with "
            + "'\(strictNotation?.description ?? strict.name)': use the same options, or --truncate"
        )
      }
      return
    }
    let found = classes
    classes = stored?.classes ?? []
    mayHaveLargeIntegers = stored?.mayHaveLargeIntegers ?? false
    // In an emptied table, a guessed type may be guessed again.
    if !origin.isGuessed { classes.formUnion(column.class) }
    // Bytes accept everything; and a key in another than its type's canonical spelling would be a different
    // key.
    if column.type == .data || (origin.isKey && column.type.isWide) { strictType = column.type }
    sampled = classes
    isKnown = !classes.isEmpty
    knownType = isKnown ? column.type : nil
    if classes.isEmpty {
      (classes, sampled, unused) = (found, found, column.reading)
      return
    }
    if column.notation != nil || !column.type.hasClasses {
      return begin([ReadingCandidate(column.reading)])
    }
    // A text column stays text.
    guard column.type != .text || (origin.isGuessed && origin.isResuming) else { return begin([]) }
    guard let stored else { return }
    for (index, candidate) in candidates.enumerated() {
      fitting[index] = try stored.agrees(with: candidate.reading)
    }
  }
}

extension ColumnTypes.State {
  /// Makes the type given by the user the initial type of the column, instead of a requirement for all
  /// values.
  ///
  /// - Returns: that type; nil when it stays a requirement.
  mutating func beginWidening(_ notation: ColumnNotation) -> Reading? {
    guard let told = strictType, notation.isTypeTold, told != .text, told != .data else {
      return nil
    }
    let reading = Reading(told, strictNotation)
    (strictType, strictNotation) = (nil, nil)
    return reading
  }

  /// Continues the widening after the column was compared with the table's.
  mutating func goOnWidening(from told: Reading) {
    guard strictType == nil else { return }
    let isText = isKnown && type == .text && candidates.isEmpty
    if isText { return }
    if told.notation == nil, told.type.hasClasses {
      classes.formUnion(Column("", told.type).class)
      sampled = classes
    } else if candidates.isEmpty || !isKnown {
      begin([ReadingCandidate(told)])
    }
    knownType = knownType ?? told.type
    isKnown = true
  }
}

extension Column {
  /// The class of its doubles; none if they have a notation.
  var plainDoubles: TypeSet { notation == nil && type == .double ? `class` : [] }

  /// The class of its values, by its type.
  var `class`: TypeSet {
    if notation != nil { return .text }
    return switch type {
    case .bool: .bool
    case .int: .int
    case .double: .double
    case .date: .date
    case .dateTime: .dateTime
    // The first three have no class of their own.
    case .time, .decimal, .uuid, .text, .data: .text
    }
  }
}

extension ColumnTypes.State {
  /// The state before any value was seen.
  init(_ notation: ColumnNotation) {
    self.init(strictType: notation.strictType)
    strictNotation = notation.strictNotation
    (refusesPoints, doubtsPoints) = (notation.refusesPoints, notation.doubtsPoints)
    begin(notation.candidates)
    // By their classes alone, such dates would be ints.
    if notation.keepsText || notation.hasDigitDates, strictType == nil { takeAsText() }
  }
}
