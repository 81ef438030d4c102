// `Codable` for the engine's own types. Encoders such as JSON's get texts in the types' own spellings; a
// table stores values of the types.

extension CalendarDate: Codable {
  /// - Throws: `DecodingError` when it is not a text spelled `YYYY-MM-DD`, or not a day.
  public init(from decoder: any Decoder) throws {
    let (value, misfit) = try decoder.value(.date, "a date like 2018-08-03")
    guard case .date(let date)? = value else { throw misfit }
    self = date
  }

  /// Encodes it as a text, `YYYY-MM-DD`.
  ///
  /// - Throws: the encoder's errors.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(self) }
}

extension DateTime: Codable {
  /// - Throws: `DecodingError` when it is not a text spelled like `2018-08-03T12:34:56Z`.
  public init(from decoder: any Decoder) throws {
    let (value, misfit) = try decoder.value(.dateTime, "a date-time like 2018-08-03T12:34:56Z")
    guard case .dateTime(let moment)? = value else { throw misfit }
    self = moment
  }

  /// Encodes it as a text, spelled as `description` is.
  ///
  /// - Throws: the encoder's errors.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(self) }
}

extension TimeOfDay: Codable {
  /// - Throws: `DecodingError` when it is not a text spelled like `12:34:56`.
  public init(from decoder: any Decoder) throws {
    let (value, misfit) = try decoder.value(.time, "a time like 12:34:56")
    guard case .time(let time)? = value else { throw misfit }
    self = time
  }

  /// Encodes it as a text, spelled as `description` is.
  ///
  /// - Throws: the encoder's errors.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(self) }
}

extension ExactDecimal: Codable {
  /// - Throws: `DecodingError` when it is not a text spelled like `12.50`.
  public init(from decoder: any Decoder) throws {
    let (value, misfit) = try decoder.value(.decimal, "a decimal like 12.50")
    guard case .decimal(let decimal)? = value else { throw misfit }
    self = decimal
  }

  /// Encodes it as a text, spelled as `description` is: a number would lose digits elsewhere.
  ///
  /// - Throws: the encoder's errors.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(self) }
}

extension UniqueIdentifier: Codable {
  /// - Throws: `DecodingError` when it is not a text with 32 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let (value, misfit) = try decoder.value(.uuid, "a UUID")
    guard case .uuid(let identifier)? = value else { throw misfit }
    self = identifier
  }

  /// Encodes it as a text, spelled as `description` is.
  ///
  /// - Throws: the encoder's errors.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(self) }
}

extension Decoder {
  /// The value that a text spells; throws when the text does not fit the type.
  fileprivate func value(
    _ type: ColumnType, _ expected: String
  ) throws -> (value: Value?, misfit: DecodingError) {
    let container = try singleValueContainer()
    let text = try container.decode(String.self)
    return (
      Value(spelling: text, type: type),
      .dataCorruptedError(in: container, debugDescription: "it is not \(expected)")
    )
  }
}

extension Encoder {
  fileprivate func encode(_ value: some CustomStringConvertible) throws {
    var container = singleValueContainer()
    try container.encode(value.description)
  }
}
