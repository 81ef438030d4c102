import Engine

/// Writes the values of one column, as CSV or JSON.
struct FieldWriter {
  private let type: ColumnType
  private let reading: Reading

  init(_ column: Column, _ format: TableExporter.Format) {
    type = column.type
    reading = column.reading
  }

  // MARK: CSV

  static func appendHeader(_ names: [String], to output: inout [UInt8]) {
    for (index, name) in names.enumerated() {
      if index > 0 { output.append(0x2C) }
      var name = name
      name.withUTF8 { appendField(UnsafeRawBufferPointer($0), to: &output) }
    }
    output.append(0x0A)
  }

  func appendCSV(_ field: UnsafeRawBufferPointer?, to output: inout [UInt8]) {
    guard let field else { return }
    if type == .data {
      Base64.append(field, to: &output)
      return
    }
    Self.appendField(field, to: &output)
  }

  private static func appendField(_ field: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    guard needsQuotes(field) else {
      output.append(contentsOf: field)
      return
    }
    output.append(0x22)
    for byte in field {
      if byte == 0x22 { output.append(0x22) }
      output.append(byte)
    }
    output.append(0x22)
  }

  /// An empty string (an empty field is null), or one with a delimiter, a quote or a record end.
  private static func needsQuotes(_ field: UnsafeRawBufferPointer) -> Bool {
    if field.isEmpty { return true }
    for byte in field where byte == 0x2C || byte == 0x22 || byte == 0x0A || byte == 0x0D {
      return true
    }
    return false
  }

  // MARK: JSON

  /// What comes before a value: the brace or comma, and the key.
  static func key(_ name: String, isFirst: Bool) -> [UInt8] {
    var json = JSONWriter()
    json.string(name)
    return [isFirst ? 0x7B : 0x2C] + json.bytes + [0x3A]
  }

  func appendJSON(_ field: UnsafeRawBufferPointer?, to output: inout [UInt8]) {
    guard let field else {
      output += Array("null".utf8)
      return
    }
    switch type {
    case .int, .double:
      if reading.notation == nil, Self.isJSONNumber(field) {
        output.append(contentsOf: field)
      } else {
        appendNumber(field, to: &output)
      }
    case .bool:
      let value = Value(spelling: field, as: reading)
      output += Array((value == .bool(true) ? "true" : value == nil ? "null" : "false").utf8)
    case .data:
      output.append(0x22)
      Base64.append(field, to: &output)
      output.append(0x22)
    case .text, .date, .dateTime:
      var json = JSONWriter()
      json.string(utf8: field)
      output += json.bytes
    }
  }

  /// A number whose spelling JSON does not allow, such as `+5` or `NaN`.
  private func appendNumber(_ field: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    switch Value(spelling: field, as: reading) {
    case .int(let value): output += Array(String(value).utf8)
    case .double(let value) where value.isFinite: output += Array(value.description.utf8)
    default: output += Array("null".utf8)
    }
  }

  /// RFC 8259: an optional minus, digits without a leading zero, a fraction, an exponent.
  private static func isJSONNumber(_ field: UnsafeRawBufferPointer) -> Bool {
    var rest = field[...]
    func digits() -> Int {
      let count = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == 0x2D { rest = rest.dropFirst() }
    let leadingZero = rest.first == 0x30
    let whole = digits()
    guard whole > 0, !leadingZero || whole == 1 else { return false }
    if rest.first == 0x2E {
      rest = rest.dropFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == 0x65 || rest.first == 0x45 {
      rest = rest.dropFirst()
      if rest.first == 0x2B || rest.first == 0x2D { rest = rest.dropFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }
}

/// RFC 4648, with padding.
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var index = 0
    while index < bytes.count {
      let group = (0..<3).map { index + $0 < bytes.count ? UInt32(bytes[index + $0]) : 0 }
      let bits = group[0] << 16 | group[1] << 8 | group[2]
      for position in 0..<4 {
        let isPadding = index + position > bytes.count
        output.append(
          isPadding ? 0x3D : alphabet[Int(bits >> UInt32(18 - 6 * position)) & 63])
      }
      index += 3
    }
  }
}
