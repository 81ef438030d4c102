/// Strings of hexadecimal or decimal digits that all have one length, and their literals at the same places:
/// identifiers, hashes, times, numbers with zeros in front. `DigitPacker` reads all others, one byte after
/// the other.
///
/// `pack` first puts the digits of all strings side by side, and then turns them into codes, sixteen at a
/// time. Doing both string by string would read bytes written a moment ago, in other words than those in
/// which they were written, and the processor would wait.
struct FixedDigits {
  /// Up to sixteen bytes without a literal: where they begin in a string, and among its digits.
  private struct Piece: BitwiseCopyable {
    let source: Int
    let target: Int
  }

  /// Bytes behind the digits of all strings that are read and written.
  static let slack = 16

  /// Codes of each string.
  let codes: Int
  private let length: Int
  /// The letter of the digit 10; nil when there are only decimal digits.
  private let letter: UInt8?
  private let symbolCount: UInt8
  private let pieces: [Piece]
  private let literals: ArraySlice<(place: Int, byte: UInt8)>

  /// Nil when the symbols are neither the hexadecimal digits of one case nor the first decimal ones, when
  /// strings of that length have nothing but literals, or when they end where a literal would follow.
  ///
  /// - Parameter length: the bytes of each string, at least 1.
  init?(_ pattern: DigitPattern, length: Int) {
    let symbols = pattern.symbols
    guard pattern.bits == 4, symbols[0] == 0x30, length > 0 else { return nil }
    // The digits ascend, and so do the letters.
    if symbols.count <= 10 {
      guard Int(symbols[symbols.count - 1]) == 0x2F + symbols.count else { return nil }
      letter = nil
    } else {
      guard symbols.count == 16, symbols[9] == 0x39, symbols[10] == 0x61 || symbols[10] == 0x41,
        symbols[15] &- symbols[10] == 5
      else { return nil }
      letter = symbols[10]
    }
    self.length = length
    symbolCount = UInt8(truncatingIfNeeded: symbols.count)
    literals = pattern.literals.prefix { $0.place < length }
    // Decoding would append a literal that follows right at the end, which the strings do not have.
    if pattern.literals.dropFirst(literals.count).first?.place == length { return nil }
    var pieces: [Piece] = []
    var (source, target) = (0, 0)
    for end in literals.map(\.place) + [length] {
      while source < end {
        pieces.append(Piece(source: source, target: target))
        let bytes = min(16, end - source)
        (source, target) = (source + bytes, target + bytes)
      }
      source = end + 1
    }
    if target == 0 { return nil }
    codes = target
    self.pieces = pieces
  }

  /// Puts the digits of the strings side by side, and appends their codes.
  ///
  /// - Parameters:
  ///   - span: the place of each string; empty ones have no codes.
  ///   - room: memory for all bytes of the strings, and the slack.
  /// - Returns: false, with nothing appended, when a string is not like the others.
  func pack(
    _ column: GatheredColumn, count: Int, room: UnsafeMutableRawPointer,
    into output: inout OutputBuffer, span: (Int) -> TextSpan
  ) -> Bool {
    var end = room
    let fits = pieces.withUnsafeBufferPointer { pieces in
      literals.withUnsafeBufferPointer { literals in
        for index in 0..<count {
          let string = span(index)
          if string.length == 0 { continue }
          let text = column.spelling(string)
          guard text.count == length, text.mayRead(length &+ Self.slack) else { return false }
          for literal in literals where text[literal.place] != literal.byte { return false }
          // In order: each piece overwrites the surplus bytes of the piece before it.
          for piece in pieces {
            let bytes = text.pointer.loadUnaligned(
              fromByteOffset: piece.source, as: HexBlock.Bytes.self)
            end.storeBytes(of: bytes, toByteOffset: piece.target, as: HexBlock.Bytes.self)
          }
          end += codes
        }
        return true
      }
    }
    guard fits else { return false }
    if let letter {
      return encode(room, count: end - room, into: &output) { HexBlock($0, letter: letter) }
    }
    let symbolCount = symbolCount
    return encode(room, count: end - room, into: &output) { HexBlock($0, decimals: symbolCount) }
  }

  /// Appends the codes of the digits, two in a byte; false when there are other bytes among them.
  @inline(__always)
  private func encode(
    _ digits: UnsafeMutableRawPointer, count: Int, into output: inout OutputBuffer,
    _ block: (HexBlock.Bytes) -> HexBlock
  ) -> Bool {
    // The last block is filled up with zeros, which are digits.
    digits.storeBytes(
      of: HexBlock.Bytes(repeating: 0x30), toByteOffset: count, as: HexBlock.Bytes.self)
    let target = output.reserve(count / 2 &+ 8)
    var marks = HexBlock.Bytes(repeating: .max)
    var index = 0
    while index < count {
      let block = block(
        digits.loadUnaligned(fromByteOffset: index, as: HexBlock.Bytes.self))
      marks &= block.areDigits
      target.storeBytes(
        of: block.packed.littleEndian, toByteOffset: index &>> 1, as: UInt64.self)
      index &+= 16
    }
    guard HexBlock.areAll(marks) else { return false }
    output.advance((count &+ 1) &>> 1)
    return true
  }
}
