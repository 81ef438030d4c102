import Base

/// Indices of a column where neighbours are often equal.
///
///     u32  runCount      at least 1
///     u8   startWidth    0 to 21
///     packed  the row where run 1, 2, ... begins     (runCount - 1 values of startWidth bits)
///     u8   width         0 to 21
///     packed  index of each run                      (runCount values of width bits)
struct RunIndices {
  private let starts: PackedBits
  private let indices: PackedBits
  private let storedRowCount: UInt32
  private let storedCount: UInt32

  private var rowCount: Int { Int(storedRowCount) }
  @inline(__always)
  private var count: Int { Int(storedCount) }

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    let count = Int(try reader.read(UInt32.self, "the number of runs"))
    storedRowCount = UInt32(truncatingIfNeeded: rowCount)
    storedCount = UInt32(truncatingIfNeeded: count)
    guard count >= 1, count <= rowCount else {
      throw DecodingFailure(what: "the number of runs", offset: reader.offset)
    }
    let width = Int(try reader.read(UInt8.self, "the width of run starts"))
    starts = try PackedBits(
      &reader, count: count - 1, width: width, maximumWidth: DictionaryIndices.maximumWidth,
      "the run starts")
    indices = try DictionaryIndices.bits(&reader, count: count)
  }

  /// The run that contains a row.
  private func run(_ row: Int) -> Int {
    let wanted = UInt64(truncatingIfNeeded: row)
    return partitionPoint(0..<max(count &- 1, 0)) { starts[$0] > wanted }
  }

  func index(_ row: Int) -> Int { Int(truncatingIfNeeded: indices[run(row)]) }

  func decode(_ rows: Range<Int>, limit: Int, into target: UnsafeMutablePointer<UInt32>) {
    guard let first = rows.first else { return }
    var run = run(first)
    for row in rows {
      while run < count &- 1, starts[run] <= UInt64(truncatingIfNeeded: row) { run &+= 1 }
      target[row &- first] = UInt32(
        truncatingIfNeeded: min(Int(truncatingIfNeeded: indices[run]), limit))
    }
  }

  func inconsistency() -> String? {
    var previous: UInt64 = 0
    for run in 0..<count - 1 {
      if starts[run] <= previous { return "runs are out of order" }
      previous = starts[run]
    }
    return previous < UInt64(rowCount) ? nil : "a run begins beyond the rows"
  }

  // MARK: Writing

  static func size(rowCount: Int, runs: Int, width: Int) -> Int {
    6 &+ BitPacking.byteCount(runs &- 1, width: BitPacking.width(rowCount))
      &+ BitPacking.byteCount(runs, width: width)
  }

  static func count(_ dictionary: DictionaryBuilder.Result, rowCount: Int) -> Int {
    var runs = min(rowCount, 1)
    for row in 1..<max(rowCount, 1) where dictionary.indices[row] != dictionary.indices[row - 1] {
      runs &+= 1
    }
    return runs
  }

  static func write(
    _ dictionary: DictionaryBuilder.Result, rowCount: Int, runs: Int, width: Int,
    into output: inout OutputBuffer
  ) {
    let startWidth = BitPacking.width(rowCount)
    let indices = dictionary.indices
    output.append(UInt32(truncatingIfNeeded: runs))
    output.append(UInt8(truncatingIfNeeded: startWidth))
    var row = 0
    func next() {
      row &+= 1
      while row < rowCount && indices[row] == indices[row &- 1] { row &+= 1 }
    }
    BitPacking.pack(count: runs &- 1, width: startWidth, into: &output) { _ in
      next()
      return UInt64(truncatingIfNeeded: row)
    }
    output.append(UInt8(truncatingIfNeeded: width))
    row = 0
    BitPacking.pack(count: runs, width: width, into: &output) { run in
      if run > 0 { next() }
      return UInt64(truncatingIfNeeded: min(Int(indices[row]), dictionary.strings.count))
    }
  }
}
