/// Numbers as differences to their smallest, bit-packed:
///
///     i64  base
///     u8   width        0 to 64
///     packed  number - base     (rowCount values of width bits; 0 for nulls and exceptions)
struct FrameOfReference {
  static let headerSize = 9

  private let base: Int64
  private let packed: PackedBits

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    base = try reader.read(Int64.self, "the base")
    let width = Int(try reader.read(UInt8.self, "the bit width"))
    packed = try PackedBits(
      &reader, count: rowCount, width: width, maximumWidth: 64, "the numbers")
  }

  /// The number of a row. Damaged bytes may make the sum wrap.
  @inline(__always)
  subscript(row: Int) -> Int64 { base &+ Int64(bitPattern: packed[row]) }
}

/// How numbers are going to be stored: the smallest choice of width, with the rows that need more
/// bits spelled as exceptions ("patched" frame of reference).
struct FramePlan {
  private(set) var base: Int64 = 0
  private(set) var width = 0
  /// Rows that are exceptions, those the encoding does not fit included.
  private(set) var exceptions = 0
  /// Marks and packed numbers; an upper bound where there are exceptions.
  private(set) var size = 0

  /// Plans for the numbers that `scan` holds; with `scale`, for those of that scale only. Nil when
  /// too many rows would be exceptions.
  ///
  /// - Complexity: O(n), two passes.
  init?(
    _ column: GatheredColumn, _ scan: TypedScan, scale: UInt8?, histogram: inout FrameHistogram
  ) {
    var minimum = Int64.max
    var maximum = Int64.min
    var misfits = PackedStringsPlan()
    let highest = scale ?? TypedScan.largestScale
    let lowest = scale ?? 0
    for row in 0..<column.rowCount {
      let mark = scan.scales[row]
      if mark >= lowest && mark <= highest {
        minimum = min(minimum, scan.numbers[row])
        maximum = max(maximum, scan.numbers[row])
      } else if mark != TypedScan.null {
        misfits.add(length: Int(column.spans[row].length))
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
    choose(column, misfits, BitPacking.width(UInt64(bitPattern: maximum &- minimum)), histogram)
  }

  /// Tries every width from the one that fits all numbers down to 0.
  private mutating func choose(
    _ column: GatheredColumn, _ misfits: PackedStringsPlan, _ widest: Int,
    _ histogram: borrowing FrameHistogram
  ) {
    var count = misfits.count
    var bytes = misfits.total
    var best = Int.max
    var candidate = widest
    while count <= column.maximumExceptions {
      let strings = PackedStringsPlan(
        count: count, total: bytes, minimum: 0, maximum: count == 0 ? 0 : column.lengths.maximum)
      let size =
        RowMarks.size(column, exceptions: strings) &+ FrameOfReference.headerSize
        &+ BitPacking.byteCount(column.rowCount, width: candidate)
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
  }

  /// Writes base, width and numbers.
  ///
  /// - Precondition: the numbers of nulls and exceptions have been set to `base`.
  func write(_ numbers: UnsafePointer<Int64>, count: Int, into output: inout OutputBuffer) {
    output.append(base)
    output.append(UInt8(truncatingIfNeeded: width))
    BitPacking.pack(count: count, width: width, into: &output) { row in
      UInt64(bitPattern: numbers[row] &- base)
    }
  }
}

/// How many numbers need how many bits, and how long their spellings are together.
struct FrameHistogram: ~Copyable {
  private var room = Scratch<Int>(capacity: 130)

  var counts: UnsafeMutablePointer<Int> { room.pointer }
  var lengths: UnsafeMutablePointer<Int> { room.pointer + 65 }

  mutating func clear() { room.pointer.update(repeating: 0, count: 130) }

  @inline(__always)
  func add(_ width: Int, length: Int) {
    counts[width] &+= 1
    lengths[width] &+= length
  }
}
