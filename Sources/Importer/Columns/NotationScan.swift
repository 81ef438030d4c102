import Engine

/// Checks which of a column's candidates fit all spellings of some rows.
///
/// A spelling that occurred shortly before is not read again: most columns of dates repeat themselves.
struct NotationScan {
  /// Spellings that fit every candidate, in slots where they are found again.
  private var known = [TextSpan](repeating: .null, count: 1024)

  /// For each candidate, the first row whose spelling it cannot read; nil when it reads all.
  ///
  /// - Parameters:
  ///   - rowCount: the number of rows of the matrix.
  ///   - span: the column's span in a row.
  mutating func misfits(
    _ candidates: [ReadingCandidate], rowCount: Int, _ memory: UnsafeRawBufferPointer,
    _ span: (_ row: Int) -> TextSpan
  ) -> [Int?] {
    var misfits = [Int?](repeating: nil, count: candidates.count)
    var left = candidates.count
    for index in known.indices { known[index] = .null }
    for row in 0..<rowCount where left > 0 {
      let span = span(row)
      if span.isNull { continue }
      let field = Self.field(span, memory)
      let slot = Self.slot(field)
      if !known[slot].isNull, Self.isEqual(Self.field(known[slot], memory), field) { continue }
      var fits = true
      for (index, candidate) in candidates.enumerated() where misfits[index] == nil {
        if Value(spelling: field, as: candidate.reading) == nil {
          misfits[index] = row
          left -= 1
          fits = false
        }
      }
      if fits { known[slot] = span }
    }
    return misfits
  }

  private static func field(_ span: TextSpan, _ memory: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    let start = Int(span.offset)
    return UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)])
  }

  private static func isEqual(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
  ) -> Bool {
    guard one.count == other.count else { return false }
    let count = one.count
    if count < 8 { return (0..<count).allSatisfy { one[$0] == other[$0] } }
    var offset = 0
    while offset &+ 8 < count {
      if word(one, offset) != word(other, offset) { return false }
      offset &+= 8
    }
    return word(one, count &- 8) == word(other, count &- 8)
  }

  /// - Precondition: `offset` + 8 is at most the number of bytes.
  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  private static func slot(_ field: UnsafeRawBufferPointer) -> Int {
    var hash: UInt64
    if field.count >= 8 {
      hash = word(field, 0) &* 0x9E37_79B9_7F4A_7C15 ^ word(field, field.count &- 8)
    } else {
      hash = 0
      for byte in field { hash = hash &<< 8 | UInt64(byte) }
    }
    hash = (hash ^ hash &>> 29) &* 0xBF58_476D_1CE4_E5B9
    return Int(truncatingIfNeeded: hash &>> 54)
  }
}
