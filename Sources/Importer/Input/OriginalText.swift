import Base

/// A part of an input before its conversion to UTF-8, in whole codes.
///
/// Thread rule: a value.
struct OriginalText: Sendable {
  private let bytes: [UInt8]
  private let table: CodeTable
  /// Places where codes begin, one for every few thousand bytes, so that any code is found from a place
  /// nearby.
  private let marks: [(text: Int, input: Int)]

  static let markBytes = 1 << 12

  init(_ bytes: [UInt8], _ table: CodeTable, marks: [(text: Int, input: Int)]) {
    self.bytes = bytes
    self.table = table
    self.marks = marks
  }

  var count: Int { bytes.count }

  /// The place in the input of the code for a place in the UTF-8, both relative to the part's beginning.
  ///
  /// - Complexity: O(`markBytes`).
  func offset(_ text: Int) -> Int {
    let behind = partitionPoint(0..<marks.count) { marks[$0].text > text }
    var place = behind > 0 ? marks[behind - 1] : (text: 0, input: 0)
    return bytes.withUnsafeBytes { bytes in
      while place.text < text, place.input < bytes.count {
        let code = table.code(bytes, at: place.input)
        let length = table.textLength(code.entry)
        if place.text + length > text { break }
        place.text += length
        place.input += max(1, code.length)
      }
      return place.input
    }
  }

  /// The bytes of the input for a range of the UTF-8; empty when there is no such range.
  func bytes(from start: Int, to end: Int) -> [UInt8] {
    let (first, last) = (offset(start), offset(end))
    return first < last ? Array(bytes[first..<last]) : []
  }
}
