/// The bounds of the differences between successive numbers, and of each block's first number.
///
/// A row without a number counts as equal to the row before; rows before the first number count as equal to
/// that number.
struct DeltaPlan {
  private(set) var first: Int64?
  private var previous: Int64 = 0
  private var lowest = Int64.max
  private var highest = Int64.min
  private var lowestStart = Int64.max
  private var highestStart = Int64.min
  private var overflows = false
  /// True when the differences need as many bits as the numbers themselves.
  private var isUseless = false

  init() {}

  /// Plans for a column with a number in every row.
  ///
  /// - Parameter limit: when a difference needs this many bits, differences are useless and the other rows
  ///   are not read.
  /// - Precondition: there is a row, and no difference between two rows overflows.
  init(_ numbers: UnsafePointer<Int64>, count: Int, narrowerThan limit: Int) {
    first = numbers[0]
    var block = 0
    while block < count {
      add(start: numbers[block])
      let end = min(block &+ DeltaNumbers.blockMask &+ 1, count)
      var previous = numbers[block]
      for row in block &+ 1..<end {
        add(delta: numbers[row] &- previous)
        previous = numbers[row]
      }
      block = end
      if width >= limit {
        isUseless = true
        return
      }
    }
  }

  @inline(__always)
  mutating func add(_ number: Int64, row: Int) {
    if first == nil {
      first = number
      previous = number
      add(start: number)
      if row > 0 { add(delta: 0) }
      return
    }
    if row & DeltaNumbers.blockMask == 0 {
      add(start: number)
    } else {
      let (delta, overflow) = number.subtractingReportingOverflow(previous)
      overflows = overflows || overflow
      add(delta: delta)
    }
    previous = number
  }

  /// Adds a row without a number.
  @inline(__always)
  mutating func addGap(row: Int) {
    if first == nil { return }
    if row & DeltaNumbers.blockMask == 0 { add(start: previous) } else { add(delta: 0) }
  }

  @inline(__always)
  private mutating func add(delta: Int64) {
    lowest = min(lowest, delta)
    highest = max(highest, delta)
  }

  @inline(__always)
  private mutating func add(start: Int64) {
    lowestStart = min(lowestStart, start)
    highestStart = max(highestStart, start)
  }

  private var width: Int {
    lowest <= highest ? BitPacking.width(UInt64(bitPattern: highest &- lowest)) : 0
  }

  private var startWidth: Int {
    BitPacking.width(UInt64(bitPattern: highestStart &- lowestStart))
  }

  /// Bytes that `write` appends; nil when differences are useless or cannot store the numbers.
  func size(rowCount: Int) -> Int? {
    guard first != nil, !overflows, !isUseless else { return nil }
    return FrameOfReference.size(count: DeltaNumbers.blockCount(rowCount), width: startWidth)
      &+ FrameOfReference.size(count: rowCount, width: width)
  }

  func write(_ numbers: UnsafePointer<Int64>, count: Int, into output: inout OutputBuffer) {
    let base = lowest <= highest ? lowest : 0
    FrameOfReference.write(
      count: DeltaNumbers.blockCount(count), base: lowestStart, width: startWidth, into: &output
    ) { numbers[$0 &<< DeltaNumbers.blockShift] }
    FrameOfReference.write(count: count, base: base, width: width, into: &output) { row in
      row & DeltaNumbers.blockMask == 0 ? base : numbers[row] &- numbers[row &- 1]
    }
  }
}
