/// For each width in bits, how many numbers need it, and the total length of their spellings.
struct FrameHistogram: ~Copyable {
  private var room = Scratch<Int>(capacity: 130)

  var counts: UnsafeMutablePointer<Int> { room.pointer }
  var lengths: UnsafeMutablePointer<Int> { room.pointer + 65 }

  mutating func clear() { room.pointer.update(repeating: 0, count: 130) }

  /// Adds the numbers of a column, minus `base`; none of them is below `base`.
  ///
  /// Each of four consecutive rows has a table of its own, with count and length in one word. An addition
  /// then need not wait for that of the row before, which mostly has the same width.
  ///
  /// - Parameters:
  ///   - marks: a scale for each row, or a mark for a row without a number.
  ///   - scales: rows with other scales are left out.
  func add(
    _ numbers: UnsafePointer<Int64>, minus base: Int64, _ column: GatheredColumn,
    marks: UnsafePointer<UInt8>, fitting scales: ClosedRange<UInt8>
  ) {
    let widths = 65
    let (lowest, span) = (scales.lowerBound, scales.upperBound &- scales.lowerBound)
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 4 * widths) { tables in
      guard let table = tables.baseAddress else { return }
      table.update(repeating: 0, count: 4 * widths)
      for row in 0..<column.rowCount {
        let width = BitPacking.width(UInt64(bitPattern: numbers[row] &- base))
        let fits: UInt64 = marks[row] &- lowest <= span ? .max : 0
        table[(row & 3) &* widths &+ width] &+=
          (1 &<< 40 | UInt64(column.spans[row].length)) & fits
      }
      for width in 0..<widths {
        let sum =
          table[width] &+ table[widths &+ width] &+ table[2 &* widths &+ width]
          &+ table[3 &* widths &+ width]
        counts[width] &+= Int(truncatingIfNeeded: sum &>> 40)
        lengths[width] &+= Int(truncatingIfNeeded: sum & (1 &<< 40 &- 1))
      }
    }
  }
}
