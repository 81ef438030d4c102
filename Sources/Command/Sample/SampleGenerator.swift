/// The kinds of synthetic rows.
enum SampleShape: String, Sendable, CaseIterable {
  case apps, numbers, text
}

/// Makes the rows of one shape, one after the other.
///
/// Row `n` depends on the seed and on `n` only: the first `n` rows are the same for every number of rows.
protocol SampleRows {
  init(seed: UInt64)
  /// The names of the columns, with the line end.
  var header: String { get }
  /// Appends the next row, with its line end.
  mutating func appendRow(to buffer: inout [UInt8])
}

/// Writes synthetic CSV.
struct SampleGenerator {
  private var rows: any SampleRows

  init(shape: SampleShape, seed: UInt64) {
    switch shape {
    case .apps: rows = AppRows(seed: seed)
    case .numbers: rows = NumberRows(seed: seed)
    case .text: rows = TextRows(seed: seed)
    }
  }

  /// Writes the header and `count` rows.
  mutating func write(rows count: Int, to output: BufferedOutput) throws(CommandError) {
    try output.write(rows.header)
    try Self.write(&rows, count, output)
  }

  /// Generic, so that the loop is compiled for each shape.
  private static func write<Rows: SampleRows>(
    _ rows: inout Rows, _ count: Int, _ output: BufferedOutput
  ) throws(CommandError) {
    var buffer: [UInt8] = []
    buffer.reserveCapacity(2 * BufferedOutput.capacity)
    for _ in 0..<count {
      rows.appendRow(to: &buffer)
      if buffer.count >= BufferedOutput.capacity {
        try output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
      }
    }
    try output.write(buffer)
  }
}

extension [UInt8] {
  /// Appends a number's decimal digits, with leading zeros up to `width`.
  mutating func append(decimal number: UInt64, width: Int = 1) {
    var digits: (UInt64, UInt64) = (0, 0)
    var count = 0
    var rest = number
    // Twenty digits at most, four bits each, lowest first.
    repeat {
      let digit = rest % 10
      if count < 16 { digits.0 |= digit << (4 * UInt64(count)) }
      if count >= 16 { digits.1 |= digit << (4 * UInt64(count - 16)) }
      rest /= 10
      count += 1
    } while rest > 0
    for _ in 0..<Swift.max(0, width - count) { append(0x30) }
    while count > 0 {
      count -= 1
      let digit =
        count < 16 ? digits.0 >> (4 * UInt64(count)) : digits.1 >> (4 * UInt64(count - 16))
      append(0x30 | UInt8(truncatingIfNeeded: digit & 15))
    }
  }

  mutating func append(ascii text: StaticString) {
    // Unsafe because a static string has no safe view of its bytes; the length is its own.
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
