import Base
import Engine

/// Writes the values of one column, as CSV or JSON.
struct FieldWriter {
  private let type: ColumnType
  private let reading: Reading
  /// True when CSV has values instead of spellings.
  private let writesValues: Bool
  /// True when CSV has bytes in PostgreSQL's hexadecimal form instead of Base64.
  private let writesHex: Bool
  /// True when JSON has a text, instead of null, for a field that is not a value of the type.
  private let keepsOthers: Bool
  /// The bytes before a value in JSON: the brace or comma, and the key.
  private let key: [UInt8]

  /// - Parameters:
  ///   - name: the name in JSON; nil: that of the column.
  ///   - writesHex: whether bytes are in hexadecimal digits instead of Base64.
  ///   - keepsOthers: whether JSON has texts for fields that are not values of the column's type, or numbers
  ///     that JSON lacks.
  init(
    _ column: Column, named name: String? = nil, writesValues: Bool = false,
    writesHex: Bool = false, keepsOthers: Bool = false, isFirst: Bool
  ) {
    self.keepsOthers = keepsOthers
    self.writesHex = writesHex
    type = column.type
    self.writesValues = writesValues && type != .text
    reading = column.reading
    var json = JSONWriter()
    json.string(name ?? column.name)
    key = [isFirst ? 0x7B : 0x2C] + json.bytes + [0x3A]
  }

  // MARK: CSV

  /// Whether the output differs from the stored spellings.
  var isEncoded: Bool { type == .data || writesValues }

  func appendCSV(_ field: UnsafeRawBufferPointer?, to output: FormattedBytes) {
    guard let field, let source = field.baseAddress else { return }
    if type == .data, writesHex { return Self.appendHex(field, to: output) }
    // Without quotes, no bytes would be null.
    if type == .data, field.isEmpty { return output.append([0x22, 0x22]) }
    if type == .data { return Base64.append(field, to: output) }
    if writesValues, let value = Value(spelling: field, as: reading) {
      return output.append(value.spelling)
    }
    let target = output.reserve(CSVField.mostBytes(field.count))
    output.advance(CSVField.write(source, count: field.count, to: target))
  }

  private static func appendHex(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    let digits = Array("0123456789abcdef".utf8)
    output.append(0x5C)
    output.append(0x78)
    for byte in field {
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
  }

  // MARK: JSON

  func appendJSON(_ field: UnsafeRawBufferPointer?, to output: FormattedBytes) {
    output.append(key)
    appendValue(field, to: output)
  }

  /// Appends only the value.
  func appendValue(_ field: UnsafeRawBufferPointer?, to output: FormattedBytes) {
    guard let field else {
      output.append(Self.null)
      return
    }
    switch type {
    case .int, .double:
      if reading.notation == nil, Self.isJSONNumber(field) {
        output.append(field)
      } else {
        appendNumber(field, to: output)
      }
    case .decimal:
      guard let value = Value(spelling: field, as: reading) else {
        return appendOther(field, to: output)
      }
      output.append(value.spelling)
    case .uuid: appendCanonical(field, to: output)
    case .bool:
      guard let value = Value(spelling: field, as: reading) else {
        return appendOther(field, to: output)
      }
      output.append(Array((value == .bool(true) ? "true" : "false").utf8))
    case .data:
      output.append(0x22)
      Base64.append(field, to: output)
      output.append(0x22)
    case .date, .dateTime, .time: appendMoment(field, to: output)
    case .text: appendString(field, to: output)
    }
  }

  /// A number whose spelling JSON does not allow, such as `+5` or `NaN`.
  private func appendNumber(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    switch Value(spelling: field, as: reading) {
    case .int(let value): output.append(Array(String(value).utf8))
    case .double(let value) where value.isFinite: output.append(Array(value.description.utf8))
    default: appendOther(field, to: output)
    }
  }

  private func appendOther(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    if keepsOthers { return appendString(field, to: output) }
    output.append(Self.null)
  }

  /// Appends a date or time in ISO 8601, whatever the stored spelling.
  private func appendMoment(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    // A date of four digits and two hyphens that is read without a notation is in ISO 8601.
    if type == .date, reading.notation == nil, field.count == Self.dateLength {
      return appendString(field, to: output)
    }
    appendCanonical(field, to: output)
  }

  private func appendCanonical(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    guard let value = Value(spelling: field, as: reading) else {
      return appendString(field, to: output)
    }
    value.spelling.withUnsafeBytes { appendString($0, to: output) }
  }

  private static let dateLength = "2018-08-03".utf8.count
  private static let null = Array("null".utf8)

  private func appendString(_ field: UnsafeRawBufferPointer, to output: FormattedBytes) {
    var mustEscape: UInt8 = 0
    // Without an early exit, so that the compiler can vectorize the loop.
    for byte in field {
      mustEscape |= byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F ? 1 : 0
    }
    if mustEscape != 0 {
      var json = JSONWriter()
      json.string(utf8: field)
      output.append(json.bytes)
    } else {
      output.append(0x22)
      output.append(field)
      output.append(0x22)
    }
  }

  /// RFC 8259: an optional minus, digits without a leading zero, a fraction, an exponent.
  private static func isJSONNumber(_ field: UnsafeRawBufferPointer) -> Bool {
    var next = 0
    func has(_ byte: UInt8) -> Bool { next < field.count && field[next] == byte }
    func digits() -> Int {
      let first = next
      while next < field.count, field[next] &- 0x30 < 10 { next += 1 }
      return next - first
    }
    if has(0x2D) { next += 1 }
    let leadingZero = has(0x30)
    let whole = digits()
    guard whole > 0, !leadingZero || whole == 1 else { return false }
    if has(0x2E) {
      next += 1
      guard digits() > 0 else { return false }
    }
    if has(0x65) || has(0x45) {
      next += 1
      if has(0x2B) || has(0x2D) { next += 1 }
      guard digits() > 0 else { return false }
    }
    return next == field.count
  }
}

/// RFC 4648, with padding.
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func append(_ bytes: UnsafeRawBufferPointer, to output: FormattedBytes) {
    var index = 0
    while index < bytes.count {
      var bits: UInt32 = 0
      for place in index..<index + 3 {
        bits = bits << 8 | (place < bytes.count ? UInt32(bytes[place]) : 0)
      }
      for position in 0..<4 {
        let isPadding = index + position > bytes.count
        output.append(
          isPadding ? 0x3D : alphabet[Int(bits >> UInt32(18 - 6 * position)) & 63])
      }
      index += 3
    }
  }
}
