import Engine

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
    if count > 64 {
      target.copyMemory(from: source, byteCount: count)
      return
    }
    var offset = 0
    while offset < count {
      target.storeBytes(
        of: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: offset,
        as: UInt64.self)
      offset &+= 8
    }
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
    // Reads the copy, since bytes after it may be read too.
    var found: UInt64 = 0
    var offset = 0
    while offset < count, found == 0 {
      found = marks(target + offset)
      let rest = count &- offset
      if rest < 64 { found &= (1 &<< UInt64(truncatingIfNeeded: rest)) &- 1 }
      offset &+= 64
    }
    return found == 0 ? count : quote(source, count: count, to: target)
  }

  private static func quote(
    _ source: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    let quotes = UInt64(0x2222_2222_2222_2222)
    target.storeBytes(of: 0x22, as: UInt8.self)
    var written = 1
    var offset = 0
    while offset < count {
      let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let differences = word ^ quotes
      // A zero byte in the result is a quote; bytes of 0x80 and more may resemble one, which does no harm
      // here.
      let mayQuote =
        (differences &- 0x0101_0101_0101_0101) & ~differences & 0x8080_8080_8080_8080
      if mayQuote == 0 {
        target.storeBytes(of: word, toByteOffset: written, as: UInt64.self)
        let length = min(8, count &- offset)
        written &+= length
        offset &+= length
        continue
      }
      for _ in 0..<min(8, count &- offset) {
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
