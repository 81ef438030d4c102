/// How numbers will be stored: the form of `PackedNumbers`, and which rows do not fit it and become
/// exceptions.
struct FramePlan {
  private enum PackingPlan {
    /// Numbers that need more bits are exceptions ("patched" frame of reference).
    case plain(width: Int)
    case deltas(DeltaPlan)
    case sized(SizedPlan)
  }

  private(set) var base: Int64 = 0
  /// The number of exceptions, including rows that the encoding does not fit.
  private(set) var exceptions = 0
  /// Size of marks and packed numbers; an upper bound when there are exceptions.
  private(set) var size = Int.max
  /// The most bits that a number minus `base` may have.
  private(set) var width = 0
  private var form = PackingPlan.plain(width: 0)
  private var first: Int64 = 0

  private static let formSize = 1

  /// Plans for the numbers of `scan`; with `scale`, only for those of that scale. Nil when too many rows
  /// would be exceptions.
  ///
  /// - Complexity: O(n), two passes.
  init?(
    _ column: GatheredColumn, _ scan: TypedScan, scale: UInt8?, effort: EncodingEffort,
    histogram: inout FrameHistogram
  ) {
    var misfits = PackedStringsPlan()
    let scales = (scale ?? 0)...(scale ?? TypedScan.largestScale)
    let deltas: DeltaPlan
    let maximum: Int64
    // Nulls have the number of another row, which changes neither bounds nor differences.
    let isDense = scan.misfits == 0 && (scale == nil || scan.singleScale == scale)
    let (range, overflow) = scan.high.subtractingReportingOverflow(scan.low)
    if isDense, !overflow {
      (base, maximum) = (scan.low, scan.high)
      deltas = DeltaPlan(
        scan.numbers, count: column.rowCount,
        narrowerThan: BitPacking.width(UInt64(bitPattern: range)))
    } else {
      guard let rest = Self.scatteredBounds(column, scan, scales, &misfits) else { return nil }
      (base, maximum, deltas) = rest
    }
    let widest = BitPacking.width(UInt64(bitPattern: maximum &- base))
    histogram.clear()
    // When the widest numbers are too many to be exceptions, narrower frames are not tried.
    if effort == .thorough
      || Self.hasFew(
        ofWidth: widest, scan, minus: base, column.rowCount, fitting: scales,
        most: column.maximumExceptions &- misfits.count)
    {
      histogram.add(scan.numbers, minus: base, column, marks: scan.scales, fitting: scales)
      choosePlain(column, misfits, widest, histogram)
    } else {
      choosePlain(column, misfits, only: widest)
    }
    first = deltas.first ?? 0
    let marks = RowMarks.size(column, exceptions: Self.priced(misfits, column)) &+ Self.formSize
    func take(_ form: PackingPlan, _ bytes: Int) {
      guard marks &+ bytes < size else { return }
      self.form = form
      size = marks &+ bytes
      width = 64
      exceptions = misfits.count
    }
    if let bytes = deltas.size(rowCount: column.rowCount) { take(.deltas(deltas), bytes) }
    if effort == .thorough {
      let zeros = column.nullCount &+ misfits.count
      if let sized = SizedPlan(histogram, zeros: zeros, rowCount: column.rowCount) {
        take(.sized(sized), sized.size)
      }
    }
  }

  /// True when at most `most` numbers need `widest` bits. The first rows usually decide that more do.
  private static func hasFew(
    ofWidth widest: Int, _ scan: TypedScan, minus base: Int64, _ rowCount: Int,
    fitting scales: ClosedRange<UInt8>, most: Int
  ) -> Bool {
    if widest == 0 { return rowCount <= most }
    let shift = UInt64(truncatingIfNeeded: widest &- 1)
    let (lowest, span) = (scales.lowerBound, scales.upperBound &- scales.lowerBound)
    let (numbers, marks) = (scan.numbers, scan.scales)
    var count: UInt64 = 0
    var row = 0
    while row < rowCount {
      let end = min(row &+ 128, rowCount)
      while row < end {
        let fits: UInt64 = marks[row] &- lowest <= span ? 1 : 0
        // A fitting number has at most `widest` bits, so the shift leaves only its highest one.
        count &+= (UInt64(bitPattern: numbers[row] &- base) &>> shift) & fits
        row &+= 1
      }
      if Int(truncatingIfNeeded: count) > most { return false }
    }
    return true
  }

  /// Bounds and differences when some rows have no fitting number; nil when too many have none.
  private static func scatteredBounds(
    _ column: GatheredColumn, _ scan: TypedScan, _ scales: ClosedRange<UInt8>,
    _ misfits: inout PackedStringsPlan
  ) -> (minimum: Int64, maximum: Int64, DeltaPlan)? {
    var (minimum, maximum) = (Int64.max, Int64.min)
    var deltas = DeltaPlan()
    for row in 0..<column.rowCount {
      let mark = scan.scales[row]
      if scales.contains(mark) {
        let number = scan.numbers[row]
        minimum = min(minimum, number)
        maximum = max(maximum, number)
        deltas.add(number, row: row)
      } else {
        deltas.addGap(row: row)
        if mark != TypedScan.null {
          misfits.add(length: Int(column.spans[row].length))
          if misfits.count > column.maximumExceptions { return nil }
        }
      }
    }
    guard minimum <= maximum else { return nil }
    return (minimum, maximum, deltas)
  }

  /// The exceptions with bounds instead of their shortest and longest length, which are not known yet.
  private static func priced(
    _ misfits: PackedStringsPlan, _ column: GatheredColumn
  ) -> PackedStringsPlan {
    PackedStringsPlan(
      count: misfits.count, total: misfits.total, minimum: 0,
      maximum: misfits.count == 0 ? 0 : column.lengths.maximum)
  }

  /// Tries every width from the one that fits all numbers downwards, while the exceptions are not too many.
  private mutating func choosePlain(
    _ column: GatheredColumn, _ misfits: PackedStringsPlan, _ widest: Int,
    _ histogram: borrowing FrameHistogram
  ) {
    var misfits = misfits
    var candidate = widest
    while misfits.count <= column.maximumExceptions {
      choosePlain(column, misfits, only: candidate)
      if candidate == 0 { break }
      misfits = PackedStringsPlan(
        count: misfits.count &+ histogram.counts[candidate],
        total: misfits.total &+ histogram.lengths[candidate], minimum: 0, maximum: 0)
      candidate &-= 1
    }
  }

  /// Takes a width unless an earlier one gave the same size or less.
  private mutating func choosePlain(
    _ column: GatheredColumn, _ misfits: PackedStringsPlan, only candidate: Int
  ) {
    let bytes =
      RowMarks.size(column, exceptions: Self.priced(misfits, column)) &+ Self.formSize
      &+ FrameOfReference.size(count: column.rowCount, width: candidate)
    if bytes < size {
      (size, width, exceptions) = (bytes, candidate, misfits.count)
      form = .plain(width: candidate)
    }
  }

  /// Gives a row without a number one that costs few bits.
  ///
  /// - Parameter row: a null or an exception; all rows before it have their numbers.
  @inline(__always)
  func fill(_ numbers: UnsafeMutablePointer<Int64>, row: Int) {
    if case .deltas = form {
      numbers[row] = row == 0 ? first : numbers[row &- 1]
    } else {
      numbers[row] = base
    }
  }

  /// Writes form and numbers.
  ///
  /// - Precondition: `fill` was called for nulls and exceptions.
  func write(_ numbers: UnsafePointer<Int64>, count: Int, into output: inout OutputBuffer) {
    switch form {
    case .plain(let width):
      output.append(PackedNumbers.Packing.plain.rawValue)
      FrameOfReference.write(count: count, base: base, width: width, into: &output) {
        numbers[$0]
      }
    case .deltas(let plan):
      output.append(PackedNumbers.Packing.deltas.rawValue)
      plan.write(numbers, count: count, into: &output)
    case .sized(let plan):
      output.append(PackedNumbers.Packing.sized.rawValue)
      plan.write(numbers, base: base, count: count, into: &output)
    }
  }
}
