import Engine

/// Checks which of a column's candidates fit all spellings of some rows.
///
/// Spellings of a usual form are read as they come. Any other that occurred shortly before is not read again,
/// as most columns of dates repeat themselves.
struct NotationScan {
  /// Spellings that fit every candidate, in hash slots.
  private var known = [TextSpan](repeating: .null, count: 1024)
  /// The same for spellings of up to seven bytes: their bytes, with their length in the highest byte.
  private var knownShort = [UInt64](repeating: .max, count: 1024)

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
    // Usually there is one; in the array, it would be retained for every row.
    let only = candidates.count == 1 ? candidates[0].reading : nil
    let usual = only?.notation?.usual
    // Not the arrays, which would be checked again for every row.
    known.withUnsafeMutableBufferPointer { known in
      knownShort.withUnsafeMutableBufferPointer { knownShort in
        known.update(repeating: .null)
        knownShort.update(repeating: .max)
        for row in 0..<rowCount where left > 0 {
          let span = span(row)
          if span.isNull || usual?.reads(span, in: memory) == true { continue }
          let field = Self.field(span, memory)
          let short = field.count < 8 ? Self.packed(field) : nil
          let slot = Self.slot(short ?? Self.folded(field))
          if let short {
            if knownShort[slot] == short { continue }
          } else if !known[slot].isNull, Self.isEqual(Self.field(known[slot], memory), field) {
            continue
          }
          let before = left
          if let only {
            if !only.reads(field) { (misfits[0], left) = (row, 0) }
          } else {
            for (index, candidate) in candidates.enumerated()
            where misfits[index] == nil && !candidate.reading.reads(field) {
              misfits[index] = row
              left -= 1
            }
          }
          guard left == before else { continue }
          if let short { knownShort[slot] = short } else { known[slot] = span }
        }
      }
    }
    return misfits
  }

  private static func field(_ span: TextSpan, _ memory: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    let start = Int(span.offset)
    return UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)])
  }

  /// - Precondition: the other one has at least eight bytes.
  private static func isEqual(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
  ) -> Bool {
    guard one.count == other.count else { return false }
    let count = one.count
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

  /// - Precondition: the field has less than eight bytes.
  @inline(__always)
  private static func packed(_ field: UnsafeRawBufferPointer) -> UInt64 {
    var packed = UInt64(field.count)
    for byte in field { packed = packed &<< 8 | UInt64(byte) }
    return packed
  }

  /// - Precondition: the field has at least eight bytes.
  @inline(__always)
  private static func folded(_ field: UnsafeRawBufferPointer) -> UInt64 {
    word(field, 0) &* 0x9E37_79B9_7F4A_7C15 ^ word(field, field.count &- 8)
  }

  @inline(__always)
  private static func slot(_ folded: UInt64) -> Int {
    let hash = (folded ^ folded &>> 29) &* 0xBF58_476D_1CE4_E5B9
    return Int(truncatingIfNeeded: hash &>> 54)
  }
}
