import Base

/// An input in an encoding of the system's, on its way to UTF-8, with the bytes it was until they are asked
/// for again.
///
/// Several codes may mean one character, and one code several characters; so the way back is not computed
/// from the UTF-8, but the input's own bytes are kept beside it, and are counted off as the UTF-8 is taken.
///
/// Memory: the input's bytes that were decoded and not taken.
///
/// Thread rule: used by one thread at a time, the one that reads the input.
final class SystemText: @unchecked Sendable {
  // @unchecked: see above.
  private var table: CodeTable
  /// Less than one code, not decoded yet: the last bytes of `original`.
  private var held: [UInt8] = []
  /// What was given and not taken, from `front` on.
  private var original: [UInt8] = []
  private var front = 0
  /// Bytes of UTF-8 of the code at the front that were taken already.
  private var partial = 0

  /// - Throws: `ImportError.invalidOption` where the system does not know the encoding any more.
  init(_ encoding: TextEncoding) throws(ImportError) {
    guard let converter = encoding.converter else {
      throw EncodingNames.unknown(encoding.rawValue)
    }
    table = CodeTable(converter)
  }

  init(_ converter: CharacterConverter) { table = CodeTable(converter) }

  /// What the codes mean that were met.
  var codes: CodeTable { table }

  /// What is not taken yet, to be taken a second time.
  init(copying other: SystemText) {
    table = other.table
    original = Array(other.original[other.front...])
    partial = other.partial
  }

  /// Begins anew, elsewhere in the input.
  func reset() {
    held = []
    original = []
    front = 0
    partial = 0
  }

  /// Appends the UTF-8 of `input`, which goes on where the one before ended.
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

  /// Counts bytes of the UTF-8 off, and says how many of the input they stand for. Of a code in their midst
  /// the bytes count with its last one.
  func pass(_ count: Int) -> Int {
    let walked = walk(count) { _, _ in }
    partial = count - walked.text
    compact()
    return walked.input
  }

  /// The same of whole codes that stand for at most `limit` bytes of the input.
  ///
  /// - Returns: how many bytes they are, and how many they were.
  func pass(upTo count: Int, inputLimit limit: Int) -> (count: Int, inputLength: Int) {
    let walked = walk(count, inputLimit: limit) { _, _ in }
    if walked.input > 0 { partial = 0 }
    compact()
    return (max(0, walked.text), walked.input)
  }

  /// Counts bytes of the UTF-8 off, and gives back what they were.
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

  /// Goes on over whole codes.
  ///
  /// - Parameter mark: told where it stands behind each.
  private func walk(
    _ count: Int, inputLimit: Int = .max, mark: (_ text: Int, _ input: Int) -> Void
  ) -> (text: Int, input: Int) {
    let start = front
    var text = -partial
    original.withUnsafeBytes { bytes in
      while front < bytes.count, text < count {
        let code = table.code(bytes, at: front)
        // What is cut off by the end of the input is no code.
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
