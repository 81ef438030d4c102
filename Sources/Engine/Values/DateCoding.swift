// Dates and date-times for other encoders, JSON's for example: as texts in their own spelling. In a
// table they are stored as what they are.

extension CalendarDate: Codable {
  /// - Throws: `DecodingError` when it is no text spelled `YYYY-MM-DD`, or no day.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard case .date(let date)? = Value(spelling: try container.decode(String.self), type: .date)
    else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "it is not a date like 2018-08-03")
    }
    self = date
  }

  /// Encodes it as a text, `YYYY-MM-DD`.
  ///
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension DateTime: Codable {
  /// - Throws: `DecodingError` when it is no text spelled like `2018-08-03T12:34:56Z`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard case .dateTime(let moment)? = Value(spelling: text, type: .dateTime) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "it is not a date-time like 2018-08-03T12:34:56Z")
    }
    self = moment
  }

  /// Encodes it as a text, spelled as `description` is.
  ///
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
