/// The smallest way to store a column's numbers: scales, form, and number of exceptions.
struct TypedPlan {
  let encoding: ColumnEncoding
  /// Bytes of the segment; an upper bound when there are exceptions.
  let size: Int
  /// The stored numbers: the column's own, or converted to one scale.
  private let scan: TypedScan
  private let frame: FramePlan
  /// Numbers of any other scale are exceptions; nil when the scales are stored.
  private let onlyScale: UInt8?
  private let scale: UInt8
  private let scaleWidth: Int

  /// Nil when too many rows would be exceptions.
  ///
  /// - Parameter trimmed: memory for the numbers converted to one scale.
  init?(
    _ column: GatheredColumn, _ scan: TypedScan, trimmed: TypedScan, effort: EncodingEffort,
    histogram: inout FrameHistogram
  ) {
    var best: TypedPlan?
    func take(_ plan: TypedPlan?) {
      if let plan, plan.size < best?.size ?? .max { best = plan }
    }
    let common = scan.commonScale(column)
    let others = column.valueCount &- scan.summary(ofScale: common, column).count
    let kind: ColumnEncoding =
      switch scan.kind {
      case .decimals: common == 0 ? .integers : .decimals
      case .dates: .dates
      case .dateTimes: .dateTimes
      }
    if others <= column.maximumExceptions,
      let frame = FramePlan(
        column, scan, scale: common, effort: effort, histogram: &histogram)
    {
      take(
        TypedPlan(
          kind, scan, frame, header: Self.headerSize(kind), onlyScale: common, scale: common,
          width: 0))
    }
    if scan.singleScale == nil {
      var trimmed = trimmed
      if trimmed.fill(trimming: scan, column),
        let frame = FramePlan(
          column, trimmed, scale: scan.largestScale, effort: effort, histogram: &histogram)
      {
        take(
          TypedPlan(
            .decimals, trimmed, frame, header: DecimalEncoding.headerSize,
            onlyScale: scan.largestScale, scale: scan.largestScale,
            width: DecimalEncoding.trimmedWidth))
      }
      if let frame = FramePlan(column, scan, scale: nil, effort: effort, histogram: &histogram) {
        let width = DecimalEncoding.scaleWidth(scan.scaleMask)
        take(
          TypedPlan(
            .decimals, scan, frame,
            header: DecimalEncoding.headerSize
              &+ BitPacking.byteCount(column.rowCount, width: width),
            onlyScale: nil, scale: UInt8(truncatingIfNeeded: scan.scaleMask.trailingZeroBitCount),
            width: width))
      }
    }
    guard let best else { return nil }
    self = best
  }

  private init(
    _ encoding: ColumnEncoding, _ scan: TypedScan, _ frame: FramePlan, header: Int,
    onlyScale: UInt8?, scale: UInt8, width: Int
  ) {
    self.encoding = encoding
    self.scan = scan
    self.frame = frame
    self.onlyScale = onlyScale
    self.scale = scale
    scaleWidth = width
    size = frame.size &+ header
  }

  /// Bytes in addition to marks and numbers.
  private static func headerSize(_ encoding: ColumnEncoding) -> Int {
    switch encoding {
    case .decimals: DecimalEncoding.headerSize
    case .dates: DateEncoding.headerSize
    case .dateTimes: DateTimeEncoding.headerSize
    default: 0
    }
  }

  /// Writes the segment. Replaces the scan's numbers and scales in rows that are null or exceptions.
  ///
  /// - Precondition: `exceptions` has room for every row.
  func write(
    _ column: GatheredColumn, exceptions: UnsafeMutablePointer<UInt32>,
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
        frame.fill(scan.numbers, row: row)
        scan.scales[row] = scale
      }
    }
    let flags = RowMarks.write(column, exceptions: exceptions, count: count, into: &output)
    switch (encoding, scan.kind) {
    case (.decimals, _):
      DecimalEncoding.write(
        scan, scale: scale, width: scaleWidth, plan: frame, count: column.rowCount, into: &output)
      return flags
    case (_, .dates(let style)): output.append(style.rawValue)
    case (_, .dateTimes(let style)): DateTimeEncoding.write(style, into: &output)
    default: break
    }
    frame.write(scan.numbers, count: column.rowCount, into: &output)
    return flags
  }
}
