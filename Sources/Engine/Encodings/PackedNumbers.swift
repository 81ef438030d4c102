import Base

/// One number for each row, in the form that takes the fewest bytes:
///
///     u8   form
///
/// 0 plain: see `FrameOfReference`. 1 deltas: see `DeltaNumbers`. 2 sized: see `SizedNumbers`.
enum PackedNumbers {
  case plain(FrameOfReference)
  case deltas(DeltaNumbers)
  case sized(SizedNumbers)

  /// The numbers are part of the file format.
  enum Packing: UInt8 {
    case plain = 0
    case deltas = 1
    case sized = 2
  }

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    let start = reader.offset
    guard let form = Packing(rawValue: try reader.read(UInt8.self, "the form of numbers")) else {
      throw DecodingFailure(what: "the form of numbers", offset: start)
    }
    switch form {
    case .plain: self = .plain(try FrameOfReference(&reader, rowCount: rowCount))
    case .deltas: self = .deltas(try DeltaNumbers(&reader, rowCount: rowCount))
    case .sized: self = .sized(try SizedNumbers(&reader, rowCount: rowCount))
    }
  }

  /// The number of a row. Damaged bytes may make sums wrap.
  ///
  /// - Precondition: 0 <= `row` < the number of rows.
  /// - Complexity: O(1); up to 128 rows are read for deltas and sized numbers.
  @inline(__always)
  subscript(row: Int) -> Int64 {
    switch self {
    case .plain(let frame): return frame[row]
    case .deltas(let deltas): return deltas.number(row)
    case .sized(let sized): return sized.number(row)
    }
  }

  /// Puts the numbers of the rows into `target`; cheaper than one by one.
  func decode(
    _ rows: Range<Int>, table: inout CodeTable, into target: UnsafeMutablePointer<Int64>
  ) {
    switch self {
    case .plain(let frame): for row in rows { target[row &- rows.lowerBound] = frame[row] }
    case .deltas(let deltas): deltas.decode(rows, into: target)
    case .sized(let sized): sized.decode(rows, table: &table, into: target)
    }
  }
}

/// Numbers that ascend or change little from row to row, in blocks of 128: the first of each block, and the
/// others as differences from the row before.
///
///     first   `FrameOfReference`, of each block's first number
///     delta   `FrameOfReference`, of each row; a block's first one means nothing
struct DeltaNumbers {
  static let blockShift = BitRows.blockShift
  static let blockMask = BitRows.blockMask

  private let firsts: FrameOfReference
  private let deltas: FrameOfReference

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    firsts = try FrameOfReference(&reader, rowCount: Self.blockCount(rowCount))
    deltas = try FrameOfReference(&reader, rowCount: rowCount)
  }

  static func blockCount(_ rowCount: Int) -> Int { (rowCount &+ blockMask) &>> blockShift }

  func number(_ row: Int) -> Int64 {
    var number = firsts[row &>> Self.blockShift]
    var other = row & ~Self.blockMask
    while other < row {
      other &+= 1
      number &+= deltas[other]
    }
    return number
  }

  func decode(_ rows: Range<Int>, into target: UnsafeMutablePointer<Int64>) {
    guard let first = rows.first else { return }
    var number = number(first)
    target[0] = number
    for row in rows.dropFirst() {
      number =
        row & Self.blockMask == 0 ? firsts[row &>> Self.blockShift] : number &+ deltas[row]
      target[row &- first] = number
    }
  }
}

/// Numbers of very different sizes: for each, its number of bits as a prefix code, and then these bits,
/// except the highest, which is always set.
///
///     i64  base        numbers are differences to it
///     code             `CanonicalCode`, of the sizes
///     bytes            the size that each symbol of the code stands for, 0 to 64
///     rows             `BitRows`
struct SizedNumbers {
  static let headerSize = 8

  private let base: Int64
  private let code: CanonicalCode
  private let sizes: UnsafeRawPointer
  private let rows: BitRows

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    base = try reader.read(Int64.self, "the base")
    code = try CanonicalCode(&reader, symbolCount: nil)
    guard code.symbolCount <= 65,
      let sizes = try reader.readBytes(code.symbolCount, "the sizes").baseAddress
    else { throw DecodingFailure(what: "the sizes", offset: reader.offset) }
    self.sizes = sizes
    rows = try BitRows(&reader, rowCount: rowCount)
  }

  /// Bits of a symbol's numbers; 0 for bits that are not a code.
  @inline(__always)
  private func size(_ symbol: Int) -> Int {
    guard symbol >= 0, symbol < code.symbolCount else { return 0 }
    return min(Int(sizes.load(fromByteOffset: symbol, as: UInt8.self)), 64)
  }

  @inline(__always)
  private func read(_ size: Int, _ cursor: inout BitCursor) -> Int64 {
    if size <= 1 { return base &+ Int64(size) }
    let top = (1 as UInt64) &<< UInt64(truncatingIfNeeded: size &- 1)
    return base &+ Int64(bitPattern: top | cursor.read(size &- 1))
  }

  func number(_ row: Int) -> Int64 {
    let limits = code.limits()
    var cursor = rows.cursor(blockOf: row)
    for _ in 0..<row & BitRows.blockMask { skip(limits, &cursor) }
    let (symbol, length) = limits.decode(cursor.window)
    cursor.skip(length)
    return read(size(symbol), &cursor)
  }

  private func skip(_ limits: CanonicalCode.Limits, _ cursor: inout BitCursor) {
    let (symbol, length) = limits.decode(cursor.window)
    cursor.skip(length &+ max(0, size(symbol) &- 1))
  }

  func decode(
    _ range: Range<Int>, table: inout CodeTable, into target: UnsafeMutablePointer<Int64>
  ) {
    guard let first = range.first else { return }
    let limits = code.limits()
    table.load(limits)
    var cursor = rows.cursor(blockOf: first)
    for _ in 0..<first & BitRows.blockMask { skip(limits, &cursor) }
    for row in range {
      let (symbol, length) = table.decode(cursor.window, limits)
      cursor.skip(length)
      target[row &- first] = read(size(symbol), &cursor)
    }
  }
}

/// The code for the sizes of numbers, and its cost.
struct SizedPlan {
  private let code: CodePlan
  /// The size of each symbol.
  private let sizes: [UInt8]
  private let bits: Int
  let size: Int

  /// - Parameters:
  ///   - histogram: how many numbers have 0 to 64 bits.
  ///   - zeros: further rows that will be stored as 0.
  init?(_ histogram: borrowing FrameHistogram, zeros: Int, rowCount: Int) {
    let counts = histogram.counts
    func count(_ size: Int) -> Int { counts[size] &+ (size == 0 ? zeros : 0) }
    let used = (0...64).filter { count($0) > 0 }
      .sorted { count($0) != count($1) ? count($0) > count($1) : $0 < $1 }
    guard !used.isEmpty else { return nil }
    var frequencies = used.map(count)
    code = frequencies.withUnsafeMutableBufferPointer { CodePlan($0) }
    sizes = used.map { UInt8($0) }
    bits = code.bits &+ used.reduce(0) { $0 &+ count($1) &* max(0, $1 &- 1) }
    guard bits <= Int(UInt32.max) else { return nil }
    size =
      SizedNumbers.headerSize &+ code.size &+ sizes.count
      &+ BitRows.size(rowCount: rowCount, bits: bits)
  }

  /// - Precondition: every number minus `base` has one of the sizes.
  func write(
    _ numbers: UnsafePointer<Int64>, base: Int64, count: Int, into output: inout OutputBuffer
  ) {
    output.append(base)
    code.write(into: &output)
    for size in sizes { output.append(size) }
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 65 * 2) { room in
      guard let codes = room.baseAddress else { return }
      let bySize = codes + 65
      code.fill(codes)
      for (symbol, size) in sizes.enumerated() { bySize[Int(size)] = codes[symbol] }
      BitRows.write(rowCount: count, bits: bits, into: &output) { row in
        let size = BitPacking.width(UInt64(bitPattern: numbers[row] &- base))
        return Int(bySize[size] & 0xFF) &+ max(0, size &- 1)
      } append: { row, writer in
        let number = UInt64(bitPattern: numbers[row] &- base)
        let size = BitPacking.width(number)
        writer.append(UInt64(bySize[size] &>> 8), count: Int(bySize[size] & 0xFF))
        if size > 1 {
          let top = (1 as UInt64) &<< UInt64(truncatingIfNeeded: size &- 1)
          writer.appendLong(number ^ top, count: size &- 1)
        }
      }
    }
  }
}
