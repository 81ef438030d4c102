/// Changes the infinities in a query's rows to the spelling of Sheaf's doubles: `inf` for the server's
/// `Infinity`.
///
/// Thread rule: a plain value, `Sendable`.
struct InfinitySpellings: Sendable {
  /// Whether each column has numbers.
  private let isNumber: [Bool]
  private let hasNumbers: Bool

  init(_ isNumber: [Bool]) {
    self.isNumber = isNumber
    hasNumbers = isNumber.contains(true)
  }

  /// The server's spelling of an infinity, after the sign.
  private static let server = Array("Infinity".utf8)
  private static let own = Array("inf".utf8)

  /// Calls `body` with the changed row.
  ///
  /// - Parameter row: CSV as the server writes it.
  /// - Complexity: O(n); rows without `Infinity` are not copied.
  func withSpellings<Result>(
    _ row: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    guard hasNumbers, Self.mayHaveWord(row) else { return body(row) }
    return spelled(row).withUnsafeBytes(body)
  }

  private static func mayHaveWord(_ row: UnsafeRawBufferPointer) -> Bool {
    for index in 0..<row.count where row[index] == UInt8(ascii: "I") {
      if row[index...].starts(with: server) { return true }
    }
    return false
  }

  private func spelled(_ row: UnsafeRawBufferPointer) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(row.count)
    var column = 0
    var start = 0
    var isQuoted = false
    for (index, byte) in row.enumerated() {
      switch byte {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ","), UInt8(ascii: "\n"):
        if isQuoted { continue }
        text += field(row[start..<index], column)
        text.append(byte)
        (column, start) = (column + 1, index + 1)
      default: continue
      }
    }
    return text + field(row[start...], column)
  }

  private func field(_ field: Slice<UnsafeRawBufferPointer>, _ column: Int) -> [UInt8] {
    guard column < isNumber.count, isNumber[column] else { return Array(field) }
    let sign = field.first == UInt8(ascii: "-") ? 1 : 0
    guard field.dropFirst(sign).elementsEqual(Self.server) else { return Array(field) }
    return Array(field.prefix(sign)) + Self.own
  }
}
