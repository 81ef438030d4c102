import Engine

#if arch(x86_64)
  internal import ByteMasks
#endif

/// Writes fields of CSV with plain stores, quoted only where they must be.
enum CSVField {
  private static let scanner = BlockScanner(.rfc4180)

  /// The maximum bytes of a field: twice its length, its quotes and the delimiter.
  static func mostBytes(_ length: Int) -> Int { 2 &* length &+ 3 }

  /// Returns whether bytes have no delimiter, quote or record end, and so need no quotes.
  static func arePlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress else { return true }
    var offset = 0
    while bytes.count &- offset >= 64 {
      if marks(start + offset) != 0 { return false }
      offset &+= 64
    }
    let rest = bytes.count &- offset
    if rest == 0 { return true }
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { block in
      guard let target = block.baseAddress else { return false }
      target.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
      target.copyMemory(from: start + offset, byteCount: rest)
      return marks(target) == 0
    }
  }

  /// The bytes among 64 that require quotes.
  @inline(__always)
  private static func marks(_ block: UnsafeRawPointer) -> UInt64 {
    let marks = scanner.marks(block)
    return marks.quotes | marks.delimiters | marks.lineFeeds | marks.carriageReturns
  }

  /// Copies a field that needs no quotes.
  ///
  /// - Precondition: 7 bytes after those of `source` may be read, as after every span of a decoded column,
  ///   and as many after those of `target` may be written.
  @inline(__always)
  static func copy(_ source: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer) {
    if count <= 16 {
      // Two words that may overlap: no branch on the length.
      let tail = max(count &- 8, 0)
      let last = source.loadUnaligned(fromByteOffset: tail, as: UInt64.self)
      target.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
      target.storeBytes(of: last, toByteOffset: tail, as: UInt64.self)
      return
    }
    if count > 64 {
      target.copyMemory(from: source, byteCount: count)
      return
    }
    var offset = 0
    while offset &+ 16 < count {
      copyVector(source, to: target, at: offset)
      offset &+= 16
    }
    copyVector(source, to: target, at: count &- 16)
  }

  @inline(__always)
  private static func copyVector(
    _ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, at offset: Int
  ) {
    target.storeBytes(
      of: source.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self),
      toByteOffset: offset, as: SIMD16<UInt8>.self)
  }

  /// Writes a field, with quotes if it needs them.
  ///
  /// - Precondition: that of `copy`; there is space for `mostBytes`, and 64 bytes after that.
  /// - Returns: the number of bytes written.
  static func write(
    _ source: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    if count == 0 {
      // An empty field is null.
      target.storeBytes(of: 0x2222, as: UInt16.self)
      return 2
    }
    copy(source, count: count, to: target)
    return needsQuotes(source, count: count) ? quote(source, count: count, to: target) : count
  }

  /// Returns whether one of the bytes requires quotes.
  ///
  /// - Precondition: that of `copy`; `count` > 0.
  @inline(__always)
  private static func needsQuotes(_ source: UnsafeRawPointer, count: Int) -> Bool {
    if count <= 16 {
      // The same words as in `copy`, without the bytes behind the field.
      let own = UInt64.max &>> UInt64(truncatingIfNeeded: max(8 &- count, 0) &* 8)
      let first = UInt64(littleEndian: source.loadUnaligned(as: UInt64.self))
      let last = UInt64(
        littleEndian: source.loadUnaligned(
          fromByteOffset: max(count &- 8, 0), as: UInt64.self))
      return haveMarks(first & own, last & own, special)
    }
    var offset = 0
    while offset < count {
      // The last sixteen bytes may overlap those before them.
      let words = source.loadUnaligned(
        fromByteOffset: min(offset, count &- 16), as: SIMD2<UInt64>.self)
      if haveMarks(words.x, words.y, special) { return true }
      offset &+= 16
    }
    return false
  }

  typealias Marks = (UInt8, UInt8, UInt8, UInt8)
  private static let quote: UInt8 = 0x22
  /// What a field is quoted for.
  private static let special: Marks = (quote, 0x2C, 0x0A, 0x0D)

  /// Returns whether one of the bytes of two words is among four.
  @inline(__always)
  static func haveMarks(_ low: UInt64, _ high: UInt64, _ marks: Marks) -> Bool {
    #if arch(x86_64)
      sheaf_words_have_any(low, high, marks.0, marks.1, marks.2, marks.3)
    #else
      portableHaveMarks(low, high, marks)
    #endif
  }

  /// Like `haveMarks`, without special instructions; the tests compare the two.
  static func portableHaveMarks(
    _ low: UInt64, _ high: UInt64, _ marks: Marks
  ) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    @inline(__always) func found(_ mark: UInt8) -> UInt64 {
      // A byte that is equal becomes zero, and the lowest zero of a word sets the top bit of its byte.
      let (a, b) = (low ^ ones &* UInt64(mark), high ^ ones &* UInt64(mark))
      return ((a &- ones) & ~a | (b &- ones) & ~b) & ones &<< 7
    }
    return found(marks.0) | found(marks.1) | found(marks.2) | found(marks.3) != 0
  }

  /// Writes a field in quotes.
  ///
  /// - Precondition: that of `write`; `count` > 0.
  static func quote(
    _ source: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    target.storeBytes(of: 0x22, as: UInt8.self)
    var written = 1
    var offset = 0
    while offset < count {
      let rest = count &- offset
      // Parts without a quote are copied as a whole: sixteen bytes, at the end up to eight.
      if rest > 16 {
        let words = source.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self)
        if !haveMarks(words.x, words.y, (quote, quote, quote, quote)) {
          target.storeBytes(of: words, toByteOffset: written, as: SIMD2<UInt64>.self)
          written &+= 16
          offset &+= 16
          continue
        }
      } else {
        let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        if !haveMarks(word, 0, (quote, quote, quote, quote)) {
          target.storeBytes(of: word, toByteOffset: written, as: UInt64.self)
          written &+= min(8, rest)
          offset &+= min(8, rest)
          continue
        }
      }
      for _ in 0..<min(rest > 16 ? 16 : 8, rest) {
        let byte = source.load(fromByteOffset: offset, as: UInt8.self)
        target.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
        target.storeBytes(of: byte, toByteOffset: written &+ 1, as: UInt8.self)
        written &+= byte == 0x22 ? 2 : 1
        offset &+= 1
      }
    }
    target.storeBytes(of: 0x22, toByteOffset: written, as: UInt8.self)
    return written &+ 1
  }
}
