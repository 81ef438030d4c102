import Engine

/// How the user said that numbers and dates are spelled, beside a table's column that reads them otherwise.
///
/// A column has one notation for all of its values. An input whose values it would read as others than the
/// user said is refused: they would be stored with another meaning.
struct ToldSpelling {
  let numbers: NumberStyle?
  let hasNoThousands: Bool
  let formats: [KnownFormats.Format]

  /// - Parameter sample: the values of the first records.
  /// - Throws: `ImportError.invalidOption` when the column would read values otherwise.
  func check(_ sample: [[UInt8]], _ column: Column) throws(ImportError) {
    // Of other columns the values decide, which may make them text.
    guard column.notation != nil || !column.type.hasClasses else { return }
    switch column.type {
    case .int, .double, .decimal: try checkNumbers(sample, column)
    case .date, .dateTime: try checkDates(sample, column)
    case .bool, .time, .text, .data, .uuid: return
    }
  }

  /// Later values may have signs that the sample lacks. So the meanings must agree, unless values of the
  /// sample show that the column is spelled as the table's.
  private func checkNumbers(_ sample: [[UInt8]], _ column: Column) throws(ImportError) {
    guard let numbers else { return try checkThousands(sample, column) }
    let told =
      AmountFinder.likely(sample, told: numbers).map { Reading(.decimal, $0) }
      ?? Reading(.double, numbers.notation(.double))
    func values(_ field: [UInt8]) -> (told: Double?, stored: Double?) {
      field.withUnsafeBytes { bytes in
        (
          Value(spelling: bytes, as: told).flatMap(Self.double),
          Value(spelling: bytes, as: column.reading).flatMap(Self.double)
        )
      }
    }
    func differ(_ field: [UInt8]) -> Bool {
      let (one, other) = values(field)
      if let one, let other { return one != other }
      return false
    }
    let fields = sample.map(\.withoutBlanks)
    if !fields.contains(where: differ) {
      let examples = ["1.5", "1,5", "1.234", "1,234", "1.234,5", "1,234.5"].map { Array($0.utf8) }
      let isStored = fields.contains { field in
        let (one, other) = values(field)
        return one == nil && other != nil
      }
      guard !isStored, examples.contains(where: differ) else { return }
    }
    throw refusal(column, numbers.example)
  }

  /// `--thousands none` alone: values that have what stands between the column's thousands are refused.
  private func checkThousands(_ sample: [[UInt8]], _ column: Column) throws(ImportError) {
    guard hasNoThousands, let example = column.notation?.patterns.first.map({ Array($0.utf8) }),
      let one = example.firstIndex(of: 0x31),
      example[one...].dropFirst(2).starts(with: "234".utf8)
    else { return }
    let separator = example[one + 1]
    let isSeparated = sample.contains { field in
      field.contains(separator)
        && field.withUnsafeBytes { Value(spelling: $0, as: column.reading) != nil }
    }
    if isSeparated { throw refusal(column, "--thousands none") }
  }

  private static func double(_ value: Value) -> Double? {
    switch value {
    case .int(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): Double("\(number)")
    default: nil
    }
  }

  /// Values that the column reads in an order of day and month other than that of the formats are refused,
  /// also where no format reads them.
  ///
  /// - Throws: `ImportError.invalidOption`.
  func checkOrder(_ sample: [[UInt8]], _ column: Column) throws(ImportError) {
    guard let notation = column.notation, [.date, .dateTime].contains(column.type) else { return }
    let patterns = notation.patterns.compactMap { try? DatePattern($0) }
      .filter { $0.isDayFirst != nil }
    let (told, stored) = (
      Set(formats.compactMap(\.pattern.isDayFirst)), Set(patterns.compactMap(\.isDayFirst))
    )
    guard told.count == 1, stored.count == 1, told != stored else { return }
    let isRead = sample.map(\.withoutBlanks).contains { field in
      patterns.contains { field.withUnsafeBytes($0.reads) }
    }
    if isRead { throw refusal(column, formats.first { $0.pattern.isDayFirst != nil }?.text ?? "") }
  }

  private func checkDates(_ sample: [[UInt8]], _ column: Column) throws(ImportError) {
    try checkOrder(sample, column)
    for field in sample.map(\.withoutBlanks) {
      for format in formats where field.withUnsafeBytes(format.pattern.reads) {
        guard let told = try? Notation(column.type, [format.text]) else { continue }
        let (one, other) = field.withUnsafeBytes { bytes in
          (
            Value(spelling: bytes, as: Reading(column.type, told)),
            Value(spelling: bytes, as: column.reading)
          )
        }
        if let one, let other, one != other { throw refusal(column, format.text) }
      }
    }
  }

  private func refusal(_ column: Column, _ told: String) -> ImportError {
    .invalidOption(
      "the values in column '\(column.name)' of the table are spelled "
        + "'\(column.notation?.description ?? column.type.name)', and those of the input would be read as "
        + "others than '\(told)' says: leave the option out if they are spelled like those of the table, and "
        + "import into another column if they are not")
  }
}
