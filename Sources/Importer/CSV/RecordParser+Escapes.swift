import Engine

extension RecordParser {
  /// The field without its escapes, in the scratch area; the same span when it has none.
  ///
  /// Unescaping only removes bytes, so the fields of a chunk always fit its scratch area, which is as large
  /// as the chunk.
  @inline(never)
  func unescaped(
    _ span: TextSpan, _ chunk: Chunk, _ cursor: inout Cursor, isQuoted: Bool = true
  ) -> TextSpan {
    let ownEscape = dialect.ownEscape
    // Inside quotes, every remaining quote is the first of two. Elsewhere it is an ordinary character.
    let doubled = isQuoted ? UInt8(exactly: quote) : nil
    guard let escape = ownEscape ?? doubled else { return span }
    let source = UnsafeRawPointer(chunk.memory + Int(span.offset))
    let offset = chunk.scratchOffset + cursor.scratch
    var copy = PlainCopy(
      source: source, count: Int(span.length), target: chunk.memory + offset,
      room: chunk.byteCount - max(Int(span.offset), cursor.scratch),
      stops: (escape, doubled ?? escape))
    copy.skipPlain()
    guard copy.index < copy.count, chunk.byteCount - cursor.scratch >= copy.count else {
      return span
    }
    copy.takeSkipped()
    while copy.index < copy.count {
      let byte = source.load(fromByteOffset: copy.index, as: UInt8.self)
      var literal = 0
      if byte == ownEscape {
        literal =
          dialect.escapedLength(
            source, at: copy.index + 1, count: copy.count, atEnd: true) ?? 0
      } else if copy.index + 1 < copy.count {
        literal = 1
      }
      if literal > 0 { copy.index += 1 }
      copy.take()
      if literal > 1 { copy.take(literal - 1) }
      copy.takePlain()
    }
    cursor.scratch += copy.written
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: copy.written))
  }
}

/// Copies the bytes between two kinds of stop bytes to a place of the same size, sixteen at a time where
/// there is space.
private struct PlainCopy {
  private typealias Block = SIMD16<UInt8>

  let source: UnsafeRawPointer
  let count: Int
  private let target: UnsafeMutableRawPointer
  /// The number of bytes that may be read from the source, and written to the target.
  private let room: Int
  private let stops: (Block, Block)
  /// The numbers of bytes processed and copied; the latter is never greater.
  var index = 0
  private(set) var written = 0

  init(
    source: UnsafeRawPointer, count: Int, target: UnsafeMutableRawPointer, room: Int,
    stops: (UInt8, UInt8)
  ) {
    self.source = source
    self.count = count
    self.target = target
    self.room = room
    self.stops = (Block(repeating: stops.0), Block(repeating: stops.1))
  }

  /// The number of bytes in a block before a stop or the end; 16: all.
  @inline(__always)
  private func plainBytes(_ block: Block) -> Int {
    // A mask of SIMD16 is sixteen bytes of 0x00 or 0xFF: the cast only reinterprets them.
    let marks = unsafeBitCast((block .== stops.0) .| (block .== stops.1), to: SIMD2<UInt64>.self)
    let left = count &- index
    if marks[0] != 0 {
      return min(UInt64(littleEndian: marks[0]).trailingZeroBitCount &>> 3, left)
    }
    if marks[1] != 0 {
      return min(8 &+ UInt64(littleEndian: marks[1]).trailingZeroBitCount &>> 3, left)
    }
    return min(16, left)
  }

  @inline(__always)
  private func isStop(_ byte: UInt8) -> Bool { byte == stops.0[0] || byte == stops.1[0] }

  @inline(__always)
  private func byte(_ index: Int) -> UInt8 { source.load(fromByteOffset: index, as: UInt8.self) }

  /// Skips to the next stop, or the end, without copying.
  mutating func skipPlain() {
    while room &- index >= 16 {
      let plain = plainBytes(source.loadUnaligned(fromByteOffset: index, as: Block.self))
      index &+= plain
      if plain < 16 { return }
    }
    while index < count, !isStop(byte(index)) { index &+= 1 }
  }

  /// Copies the bytes skipped at the beginning.
  mutating func takeSkipped() {
    target.copyMemory(from: source, byteCount: index)
    written = index
  }

  /// Copies up to the next stop or the end. Writing sixteen bytes at a time may write too many, but within
  /// the space, since no more was written than was read; the next field's bytes replace them.
  mutating func takePlain() {
    while room &- index >= 16 {
      let block = source.loadUnaligned(fromByteOffset: index, as: Block.self)
      target.storeBytes(of: block, toByteOffset: written, as: Block.self)
      let plain = plainBytes(block)
      index &+= plain
      written &+= plain
      if plain < 16 { return }
    }
    while index < count, !isStop(byte(index)) { take() }
  }

  /// Copies the next byte, whatever it is.
  ///
  /// - Precondition: there is one.
  mutating func take() {
    target.storeBytes(of: byte(index), toByteOffset: written, as: UInt8.self)
    index &+= 1
    written &+= 1
  }

  /// Copies the next bytes, whatever they are.
  ///
  /// - Precondition: this many bytes are left.
  mutating func take(_ length: Int) {
    for _ in 0..<length { take() }
  }
}
