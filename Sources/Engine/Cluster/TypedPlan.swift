/// The smallest way to store a column's numbers: which scales, which width, how many exceptions.
struct TypedPlan {
  let encoding: ColumnEncoding
  /// Bytes of the segment; an upper bound where there are exceptions.
  let size: Int
  private let frame: FramePlan
  /// Numbers of any other scale are exceptions; nil when the scales are stored.
  private let onlyScale: UInt8?
  private let smallestScale: UInt8
  private let scaleWidth: Int

  /// Nil when too many rows would be exceptions.
  init?(_ column: GatheredColumn, _ scan: TypedScan, histogram: inout FrameHistogram) {
    let common = scan.singleScale ?? scan.commonScale(column)
    let uniform = FramePlan(column, scan, scale: common, histogram: &histogram)
    var mixed: FramePlan?
    if scan.singleScale == nil {
      mixed = FramePlan(column, scan, scale: nil, histogram: &histogram)
    }
    let headers = Self.headerSize(scan, scale: common)
    let width = DecimalEncoding.scaleWidth(scan.scaleMask)
    let scaleBytes =
      DecimalEncoding.headerSize &+ BitPacking.byteCount(column.rowCount, width: width)
    if let mixed, uniform.map({ $0.size &+ headers > mixed.size &+ scaleBytes }) ?? true {
      encoding = .decimals
      frame = mixed
      size = mixed.size &+ scaleBytes
      onlyScale = nil
      smallestScale = UInt8(truncatingIfNeeded: scan.scaleMask.trailingZeroBitCount)
      scaleWidth = width
      return
    }
    guard let uniform else { return nil }
    switch scan.kind {
    case .decimals: encoding = common == 0 ? .integers : .decimals
    case .dates: encoding = .dates
    case .dateTimes: encoding = .dateTimes
    }
    frame = uniform
    size = uniform.size &+ headers
    onlyScale = common
    smallestScale = common
    scaleWidth = 0
  }

  /// Bytes that come on top of marks and numbers.
  private static func headerSize(_ scan: TypedScan, scale: UInt8) -> Int {
    switch scan.kind {
    case .decimals: scale == 0 ? 0 : DecimalEncoding.headerSize
    case .dates: 0
    case .dateTimes: DateTimeEncoding.headerSize
    }
  }

  /// Writes the segment. Overwrites the scan's numbers and scales where they are not stored.
  ///
  /// - Precondition: `exceptions` has room for every row.
  func write(
    _ column: GatheredColumn, _ scan: TypedScan, exceptions: UnsafeMutablePointer<UInt32>,
    into output: inout OutputBuffer
  ) -> SegmentFlags {
    var count = 0
    if frame.exceptions > 0 || column.nullCount > 0 {
      for row in 0..<column.rowCount {
        let mark = scan.scales[row]
        let fits = onlyScale.map { mark == $0 } ?? (mark <= TypedScan.largestScale)
        let difference = UInt64(bitPattern: scan.numbers[row] &- frame.base)
        if fits && BitPacking.width(difference) <= frame.width { continue }
        if mark != TypedScan.null {
          exceptions[count] = UInt32(truncatingIfNeeded: row)
          count &+= 1
        }
        scan.numbers[row] = frame.base
        scan.scales[row] = smallestScale
      }
    }
    let flags = RowMarks.write(column, exceptions: exceptions, count: count, into: &output)
    switch (encoding, scan.kind) {
    case (.decimals, _):
      DecimalEncoding.write(
        scan, smallest: smallestScale, width: scaleWidth, plan: frame, count: column.rowCount,
        into: &output)
    case (_, .dateTimes(let style)):
      DateTimeEncoding.write(style, into: &output)
      frame.write(scan.numbers, count: column.rowCount, into: &output)
    default:
      frame.write(scan.numbers, count: column.rowCount, into: &output)
    }
    return flags
  }
}
