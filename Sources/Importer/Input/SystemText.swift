import Base

/// An input that the system decodes to UTF-8, with its original bytes.
///
/// Several codes may mean one character, and one code several characters, so the original bytes cannot be
/// computed from the UTF-8. They are kept beside it, and dropped as the UTF-8 is consumed.
///
/// Memory: the input's bytes that were decoded and not consumed.
///
/// Thread rule: one thread at a time, the one that reads the input.
final class SystemText: @unchecked Sendable {
  // @unchecked: see the thread rule.
  private var table: CodeTable
  /// The last bytes of `original`, less than one code, which are not decoded yet.
  private var held: [UInt8] = []
  /// The input's bytes from `front` on have been passed in and not taken.
  private var original: [UInt8] = []
  private var front = 0
  /// The number of bytes of the first code's UTF-8 that were already consumed.
  private var partial = 0

  /// - Throws: `ImportError.invalidOption` when the system no longer knows the encoding.
  init(_ encoding: TextEncoding) throws(ImportError) {
    guard let converter = encoding.converter else {
      throw EncodingNames.unknown(encoding.rawValue)
    }
    table = CodeTable(converter)
  }

  init(_ converter: CharacterConverter) { table = CodeTable(converter) }

  /// The meanings of the codes that have occurred.
  var codes: CodeTable { table }

  /// A copy of the untaken part, so that it can be taken a second time.
  init(copying other: SystemText) {
    table = other.table
    original = Array(other.original[other.front...])
    partial = other.partial
  }

  /// Starts over, at another place in the input.
  func reset() {
    held = []
    original = []
    front = 0
    partial = 0
  }

  /// Appends the UTF-8 of `input`, which continues the previous call's.
  func decode(_ input: UnsafeRawBufferPointer, isLast: Bool, to output: inout [UInt8]) {
    original += input
    if held.isEmpty {
      decodeWhole(input, isLast: isLast, to: &output)
    } else {
      (held + Array(input)).withUnsafeBytes { decodeWhole($0, isLast: isLast, to: &output) }
    }
  }

  private func decodeWhole(
    _ bytes: UnsafeRawBufferPointer, isLast: Bool, to output: inout [UInt8]
  ) {
    var position = 0
    while position < bytes.count {
      var end = position
      while end < bytes.count, bytes[end] < 0x80 { end += 1 }
      if end > position {
        output += UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end
        continue
      }
      var code = table.code(bytes, at: position)
      while code.entry == CodeTable.unasked {
        table.grow(Array(bytes[position..<position + code.length]))
        code = table.code(bytes, at: position)
      }
      if code.length == 0, !isLast { break }
      table.append(code.entry, byte: bytes[position], to: &output)
      position += max(1, code.length)
    }
    held = Array(bytes[position...])
  }

  // MARK: Back

  /// Consumes bytes of the UTF-8, and returns the number of bytes of the input that they represent. When a
  /// code is divided, all its bytes count with its last one.
  func pass(_ count: Int) -> Int {
    let walked = walk(count) { _, _ in }
    partial = count - walked.text
    compact()
    return walked.input
  }

  /// Consumes whole codes that represent at most `limit` bytes of the input.
  ///
  /// - Returns: their number of bytes of UTF-8, and of the input.
  func pass(upTo count: Int, inputLimit limit: Int) -> (count: Int, inputLength: Int) {
    let walked = walk(count, inputLimit: limit) { _, _ in }
    if walked.input > 0 { partial = 0 }
    compact()
    return (max(0, walked.text), walked.input)
  }

  /// Consumes bytes of the UTF-8, and returns the original bytes.
  func take(_ count: Int) -> OriginalText {
    var marks: [(text: Int, input: Int)] = []
    var next = OriginalText.markBytes
    let start = front
    let walked = walk(count) { text, input in
      guard text >= next else { return }
      marks.append((text, input))
      next = text + OriginalText.markBytes
    }
    partial = count - walked.text
    let bytes = Array(original[start..<front])
    compact()
    return OriginalText(bytes, table, marks: marks)
  }

  /// Moves `front` over whole codes.
  ///
  /// - Parameter mark: called with the position after each.
  private func walk(
    _ count: Int, inputLimit: Int = .max, mark: (_ text: Int, _ input: Int) -> Void
  ) -> (text: Int, input: Int) {
    let start = front
    var text = -partial
    original.withUnsafeBytes { bytes in
      while front < bytes.count, text < count {
        let code = table.code(bytes, at: front)
        // A truncated code at the end of the input has no length; it is passed byte by byte.
        let length = max(1, code.length)
        let spelled = table.textLength(code.entry)
        guard text + spelled <= count, front - start + length <= inputLimit else { break }
        text += spelled
        front += length
        mark(text, front - start)
      }
    }
    return (text, front - start)
  }

  private func compact() {
    guard front > original.count / 2 else { return }
    original.removeFirst(front)
    front = 0
  }
}
