/// A column's spellings as numbers: canonical decimals, or days or moments in one style.
///
/// `numbers[row]` has `scales[row]` digits after the point (0 for days and moments). The scale `misfit` marks
/// a spelling of another kind, whose number has no meaning. The scale `null` marks a null row; its number is
/// that of the row before it, or of the first row with one, so that it changes neither bounds nor
/// differences.
struct TypedScan {
  enum Kind {
    case decimals
    case dates(DateStyle)
    /// Moments are counted in `style.unit`.
    case dateTimes(DateTimeStyle)
  }

  static let misfit = UInt8.max
  static let null = UInt8.max - 1
  static let largestScale = UInt8(ScaledNumber.maximumScale)

  let kind: Kind
  let numbers: UnsafeMutablePointer<Int64>
  let scales: UnsafeMutablePointer<UInt8>
  private(set) var misfits = 0
  /// A bit for each scale seen.
  private(set) var scaleMask: UInt32 = 0
  /// The lowest and the highest of `numbers`, whatever their scales; when there are misfits, which have the
  /// number 0, bounds of the column are others.
  private(set) var low = Int64.max
  private(set) var high = Int64.min
  /// A summary for each scale, filled in when there are several; null rows and misfits have places of their
  /// own, from 30 on.
  private let scaleSummaries: UnsafeMutablePointer<ScaleSummary>

  struct ScaleSummary {
    var count = 0
    var low = Int64.max
    var high = Int64.min
  }

  static let summaryCount = 128

  /// Memory for the results: for every row, except `scaleSummaries`, which has `summaryCount` places.
  struct Room {
    let numbers: UnsafeMutablePointer<Int64>
    let scales: UnsafeMutablePointer<UInt8>
    let scaleSummaries: UnsafeMutablePointer<ScaleSummary>
  }

  /// False when more spellings than may be exceptions begin neither like a number nor like a date of digits.
  /// The column is then tried only as dates with a month's name.
  ///
  /// A few rows are enough to recognize text: reading it as every kind in turn took a tenth of an import's
  /// encoding.
  static func mayBeNumbers(_ column: GatheredColumn) -> Bool {
    var left = column.maximumExceptions
    for row in 0..<column.rowCount {
      let span = column.spans[row]
      if span.isNull || beginsLikeNumber(column.spelling(span)) { continue }
      left &-= 1
      if left < 0 { return false }
    }
    return true
  }

  @inline(__always)
  private static func beginsLikeNumber(_ spelling: SpellingView) -> Bool {
    // Signs, the point and digits lie between 0x2B and 0x39.
    spelling.count > 0 && spelling[0] &- 0x2B <= 0x0E
  }

  /// Reads the column as each kind in turn; nil when all have more misfits than are allowed as exceptions.
  ///
  /// - Returns: the scan, and the result of `mayBeNumbers` for the column.
  static func scan(_ column: GatheredColumn, _ room: Room) -> (TypedScan?, mayBeNumbers: Bool) {
    guard column.valueCount > 0 else { return (nil, true) }
    var decimals = TypedScan(kind: .decimals, room)
    // A column that is read as decimals may be numbers; `mayBeNumbers` would only confirm that.
    let beginsWithNumber = column.firstSpelling.map(beginsLikeNumber) ?? false
    if beginsWithNumber, decimals.fillDecimals(column) { return (decimals, true) }
    guard mayBeNumbers(column) else { return (scanWrittenDates(column, room), false) }
    if !beginsWithNumber, decimals.fillDecimals(column) { return (decimals, true) }
    return (scanDatesOfDigits(column, room), true)
  }

  private static func scanDatesOfDigits(_ column: GatheredColumn, _ room: Room) -> TypedScan? {
    if let dates = scanDates(column, .iso, room) { return dates }
    guard let style = firstStyle(column) else { return scanWrittenDates(column, room) }
    let unit = style.unit
    var moments = TypedScan(kind: .dateTimes(style), room)
    var (last, lastNumber) = (TextSpan.null, ScaledNumber.misfit)
    let isMoments = moments.fill(column) { span in
      // Moments often repeat from row to row, and take long to read.
      let spelling = column.spelling(span)
      if !last.isNull, spelling.equals(column.spelling(last)) { return lastNumber }
      guard let parsed = DateSpelling.parseDateTime(spelling), parsed.style == style else {
        return .misfit
      }
      (last, lastNumber) = (span, ScaledNumber(mantissa: parsed.microseconds / unit, scale: 0))
      return lastNumber
    }
    return isMoments ? moments : nil
  }

  private static func scanDates(
    _ column: GatheredColumn, _ style: DateStyle, _ room: Room
  ) -> TypedScan? {
    var dates = TypedScan(kind: .dates(style), room)
    let isDates = dates.fill(column) { span in
      guard let days = style.parse(column.spelling(span)) else { return .misfit }
      return ScaledNumber(mantissa: Int64(days), scale: 0)
    }
    return isDates ? dates : nil
  }

  /// Tries the styles that fit the first spelling that is a date: `May 3, 2018` has both the full name of its
  /// month and the short one.
  private static func scanWrittenDates(_ column: GatheredColumn, _ room: Room) -> TypedScan? {
    var tries = column.maximumExceptions
    for row in 0..<column.rowCount where !column.isNull(row) {
      let spelling = column.spelling(row)
      if DateStyle.isLikely(spelling) {
        let styles = DateStyle.allCases.dropFirst().filter { $0.parse(spelling) != nil }
        for style in styles {
          if let dates = scanDates(column, style, room) { return dates }
        }
        if !styles.isEmpty { return nil }
      }
      tries &-= 1
      if tries < 0 { return nil }
    }
    return nil
  }

  init(kind: Kind, _ room: Room) {
    self.kind = kind
    numbers = room.numbers
    scales = room.scales
    scaleSummaries = room.scaleSummaries
  }

  /// The style of the column's first date-time, searched for in as many rows as may be exceptions.
  private static func firstStyle(_ column: GatheredColumn) -> DateTimeStyle? {
    var tries = column.maximumExceptions
    for row in 0..<column.rowCount where !column.isNull(row) {
      if let parsed = DateSpelling.parseDateTime(column.spelling(row)) { return parsed.style }
      tries &-= 1
      if tries < 0 { return nil }
    }
    return nil
  }

  @inline(never)
  private mutating func fillDecimals(_ column: GatheredColumn) -> Bool {
    // The parts of a local copy need not be loaded again for every row.
    let values = column
    return fill(values) { values.decimal($0) }
  }

  /// False when there are too many misfits.
  @inline(__always)
  private mutating func fill(
    _ column: GatheredColumn, _ parse: (TextSpan) -> ScaledNumber
  ) -> Bool {
    let allowed = column.maximumExceptions
    // Local copies: the parts of `self` and the column would be loaded again after every store.
    let (spans, numbers, scales) = (column.spans, numbers, scales)
    var misfits = 0
    var mask: UInt32 = 0
    var last: Int64 = 0
    var (low, high) = (Int64.max, Int64.min)
    for row in 0..<column.rowCount {
      let span = spans[row]
      if span.isNull {
        numbers[row] = last
        scales[row] = Self.null
        continue
      }
      let number = parse(span)
      last = number.mantissa
      low = min(low, last)
      high = max(high, last)
      numbers[row] = last
      scales[row] = number.scale
      if number.isMisfit {
        misfits &+= 1
        if misfits > allowed { return false }
      } else {
        mask |= 1 &<< UInt32(number.scale)
      }
    }
    self.misfits = misfits
    (self.low, self.high) = (low, high)
    scaleMask = mask
    fillNullsInFront(column)
    if mask.nonzeroBitCount > 1 { summarizeScales(column) }
    return true
  }

  private func summarizeScales(_ column: GatheredColumn) {
    scaleSummaries.update(repeating: ScaleSummary(), count: Self.summaryCount)
    // Sums up nulls and misfits, too, so that no row needs a branch. Rows take turns in four places: in one
    // place, each row would wait until the one before is stored.
    for row in 0..<column.rowCount {
      let place = scaleSummaries + (Int(scales[row] & 31) | (row & 3) &<< 5)
      let number = numbers[row]
      place.pointee.count &+= 1
      place.pointee.low = min(place.pointee.low, number)
      place.pointee.high = max(place.pointee.high, number)
    }
    for place in 32..<Self.summaryCount {
      let (part, sum) = (scaleSummaries[place], scaleSummaries + (place & 31))
      sum.pointee.count &+= part.count
      sum.pointee.low = min(sum.pointee.low, part.low)
      sum.pointee.high = max(sum.pointee.high, part.high)
    }
  }

  /// The summary of a scale.
  func summary(ofScale scale: UInt8, _ column: GatheredColumn) -> ScaleSummary {
    if singleScale == nil { return scaleSummaries[Int(scale)] }
    if singleScale != scale { return ScaleSummary() }
    return ScaleSummary(count: column.valueCount &- misfits, low: low, high: high)
  }

  /// Gives the nulls before the first number that number.
  private func fillNullsInFront(_ column: GatheredColumn) {
    guard column.nullCount > 0 else { return }
    var first = 0
    while first < column.rowCount, scales[first] == Self.null { first &+= 1 }
    guard first < column.rowCount else { return }
    for row in 0..<first { numbers[row] = numbers[first] }
  }

  /// The only scale there is, or nil.
  var singleScale: UInt8? {
    scaleMask.nonzeroBitCount == 1 ? UInt8(truncatingIfNeeded: scaleMask.trailingZeroBitCount) : nil
  }

  var largestScale: UInt8 { UInt8(truncatingIfNeeded: 31 &- scaleMask.leadingZeroBitCount) }

  /// Fills in the numbers of `other`, converted to its largest scale, as `DecimalEncoding` stores them
  /// trimmed. False when too many end with a zero behind the point, or become too large.
  mutating func fill(trimming other: TypedScan, _ column: GatheredColumn) -> Bool {
    let scales = Int(Self.largestScale) &+ 1
    let misfits = withUnsafeTemporaryAllocation(of: Int64.self, capacity: scales) { factors in
      let largest = Int(other.largestScale)
      for scale in 0..<scales {
        let factor = NumberSpelling.integerPowerOfTen(max(0, largest &- scale))
        factors.initializeElement(at: scale, to: Int64(truncatingIfNeeded: factor))
      }
      return factors.baseAddress.flatMap { fill(trimming: other, column, factors: $0) }
    }
    guard let misfits else { return false }
    self.misfits = other.misfits &+ misfits
    scaleMask = 1 &<< UInt32(other.largestScale)
    fillNullsInFront(column)
    return true
  }

  /// - Parameter factors: the factors that convert numbers of each scale to the largest one.
  /// - Returns: how many numbers cannot be converted; nil when there are too many.
  private mutating func fill(
    trimming other: TypedScan, _ column: GatheredColumn, factors: UnsafePointer<Int64>
  ) -> Int? {
    let (numbers, scales, largest) = (numbers, scales, other.largestScale)
    let (otherNumbers, otherScales) = (other.numbers, other.scales)
    var misfits = 0
    var last: Int64 = 0
    var (low, high) = (Int64.max, Int64.min)
    for row in 0..<column.rowCount {
      let scale = otherScales[row]
      numbers[row] = last
      scales[row] = scale
      if scale > Self.largestScale { continue }
      let mantissa = otherNumbers[row]
      let (number, overflow) = mantissa.multipliedReportingOverflow(by: factors[Int(scale)])
      if overflow || (scale > 0 && Self.endsWithZero(mantissa)) {
        scales[row] = Self.misfit
        misfits &+= 1
        if misfits > column.maximumExceptions { return nil }
      } else {
        last = number
        low = min(low, number)
        high = max(high, number)
        numbers[row] = number
        scales[row] = largest
      }
    }
    (self.low, self.high) = (low, high)
    return misfits
  }

  /// True when 10 divides the number, without a branch on its last bit. The product with the inverse of 5
  /// (modulo 2^64), rotated by one bit, is then a tenth of the number, and otherwise larger than any tenth;
  /// see Hacker's Delight, 10-17.
  @inline(__always)
  private static func endsWithZero(_ number: Int64) -> Bool {
    let fifth = number.magnitude &* 0xCCCC_CCCC_CCCC_CCCD
    return fifth &>> 1 | fifth &<< 63 <= UInt64.max / 10
  }

  /// The scale most rows have.
  func commonScale(_ column: GatheredColumn) -> UInt8 {
    if let singleScale { return singleScale }
    var best = UInt8(0)
    for scale in 1...Self.largestScale
    where scaleSummaries[Int(scale)].count > scaleSummaries[Int(best)].count { best = scale }
    return best
  }

  /// The class of a row that is neither a misfit nor null.
  @inline(__always)
  func typeClass(_ row: Int) -> TypeSet {
    switch kind {
    case .dates(let style): return style == .iso ? .date : .text
    case .dateTimes: return .dateTime
    case .decimals:
      return ScaledNumber(mantissa: numbers[row], scale: scales[row]).typeClass
    }
  }
}

extension ScaledNumber {
  /// The class of its canonical spelling.
  @inline(__always)
  var typeClass: TypeSet {
    if scale == 0 { return mantissa.magnitude <= 1 << 53 ? .int : .bigInt }
    // The mantissa's digits are the significant ones: from 10^17 on there are more than 17.
    if mantissa.magnitude < 100_000_000_000_000_000 { return .double }
    return LongDecimal.isDouble(self) ? .double : .longDecimal
  }
}
