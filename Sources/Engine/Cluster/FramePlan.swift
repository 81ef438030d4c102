/// How numbers are going to be stored: the form of `PackedNumbers`, and which rows do not fit it and
/// are spelled as exceptions.
struct FramePlan {
  private enum Form {
    /// Numbers that need more bits are exceptions ("patched" frame of reference).
    case plain(width: Int)
    case deltas(DeltaPlan)
    case sized(SizedPlan)
  }

  private(set) var base: Int64 = 0
  /// Rows that are exceptions, those the encoding does not fit included.
  private(set) var exceptions = 0
  /// Marks and packed numbers; an upper bound where there are exceptions.
  private(set) var size = 0
  /// The most bits that a number minus `base` may have.
  private(set) var width = 0
  private var form = Form.plain(width: 0)
  private var first: Int64 = 0

  private static let formSize = 1

  /// Plans for the numbers that `scan` holds; with `scale`, for those of that scale only. Nil when
  /// too many rows would be exceptions.
  ///
  /// - Complexity: O(n), two passes.
  init?(
    _ column: GatheredColumn, _ scan: TypedScan, scale: UInt8?, effort: EncodingEffort,
    histogram: inout FrameHistogram
  ) {
    var minimum = Int64.max
    var maximum = Int64.min
    var misfits = PackedStringsPlan()
    var deltas = DeltaPlan()
    let highest = scale ?? TypedScan.largestScale
    let lowest = scale ?? 0
    for row in 0..<column.rowCount {
      let mark = scan.scales[row]
      if mark >= lowest && mark <= highest {
        let number = scan.numbers[row]
        minimum = min(minimum, number)
        maximum = max(maximum, number)
        deltas.add(number, row: row)
      } else {
        deltas.addGap(row: row)
        if mark != TypedScan.null { misfits.add(length: Int(column.spans[row].length)) }
      }
    }
    guard misfits.count <= column.maximumExceptions, minimum <= maximum else { return nil }
    base = minimum
    histogram.clear()
    for row in 0..<column.rowCount {
      let mark = scan.scales[row]
      if mark >= lowest && mark <= highest {
        histogram.add(
          BitPacking.width(UInt64(bitPattern: scan.numbers[row] &- minimum)),
          length: Int(column.spans[row].length))
      }
    }
    let widest = BitPacking.width(UInt64(bitPattern: maximum &- minimum))
    choosePlain(column, misfits, widest, histogram)
    first = deltas.first ?? 0
    let marks = RowMarks.size(column, exceptions: Self.priced(misfits, column)) &+ Self.formSize
    func take(_ form: Form, _ bytes: Int) {
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

  /// Exceptions priced before their shortest length is known.
  private static func priced(
    _ misfits: PackedStringsPlan, _ column: GatheredColumn
  ) -> PackedStringsPlan {
    PackedStringsPlan(
      count: misfits.count, total: misfits.total, minimum: 0,
      maximum: misfits.count == 0 ? 0 : column.lengths.maximum)
  }

  /// Tries every width from the one that fits all numbers down to 0.
  private mutating func choosePlain(
    _ column: GatheredColumn, _ misfits: PackedStringsPlan, _ widest: Int,
    _ histogram: borrowing FrameHistogram
  ) {
    var count = misfits.count
    var bytes = misfits.total
    var best = Int.max
    var candidate = widest
    while count <= column.maximumExceptions {
      let strings = PackedStringsPlan(count: count, total: bytes, minimum: 0, maximum: 0)
      let size =
        RowMarks.size(column, exceptions: Self.priced(strings, column)) &+ Self.formSize
        &+ FrameOfReference.size(count: column.rowCount, width: candidate)
      if size < best {
        best = size
        width = candidate
        exceptions = count
      }
      if candidate == 0 { break }
      count &+= histogram.counts[candidate]
      bytes &+= histogram.lengths[candidate]
      candidate &-= 1
    }
    size = best
    form = .plain(width: width)
  }

  /// Puts in a number where a row has none, so that it costs little.
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
      output.append(PackedNumbers.Form.plain.rawValue)
      FrameOfReference.write(count: count, base: base, width: width, into: &output) {
        numbers[$0]
      }
    case .deltas(let plan):
      output.append(PackedNumbers.Form.deltas.rawValue)
      plan.write(numbers, count: count, into: &output)
    case .sized(let plan):
      output.append(PackedNumbers.Form.sized.rawValue)
      plan.write(numbers, base: base, count: count, into: &output)
    }
  }
}
