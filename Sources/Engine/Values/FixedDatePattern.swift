/// A pattern of dates or times whose fields have a fixed number of digits in most spellings: `%d.%m.%Y`,
/// `%H:%M:%S`. Such spellings are read eight bytes at once, without looking at one field after the other.
///
/// Reads only what `DatePattern` reads, as the same moment, but not all of it: not `3.8.2018`.
struct FixedDatePattern: Sendable, Hashable {
  private static let mostBytes = 32

  let count: Int
  private var templates = SIMD4<UInt64>(repeating: 0)
  /// Where the fields begin; -1: there is none.
  private var century = -1
  private var yearOfCentury = -1
  private var month = -1
  private var day = -1
  private var hour = -1
  private var minute = -1
  private var second = -1

  /// Nil for other patterns.
  init?(_ items: [DatePattern.Item]) {
    var bytes: [UInt8] = []
    /// Adds two digits, and returns where.
    func pair() -> Int {
      bytes += [0x30, 0x30]
      return bytes.count - 2
    }
    for item in items {
      switch item {
      // In a template a digit stands for any digit.
      case .literal(let byte) where byte &- 0x30 >= 10: bytes.append(byte)
      case .blank: bytes.append(0x20)
      case .year:
        century = pair()
        yearOfCentury = pair()
      case .shortYear: yearOfCentury = pair()
      case .month: month = pair()
      case .day: day = pair()
      case .hour: hour = pair()
      case .minute: minute = pair()
      case .second: second = pair()
      case .literal, .monthName, .weekday, .hourOf12, .fraction, .meridiem, .zone: return nil
      }
    }
    guard !bytes.isEmpty, bytes.count <= Self.mostBytes else { return nil }
    count = bytes.count
    for (index, byte) in bytes.enumerated() {
      templates[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
    }
  }

  /// As `DatePattern.parse`; also nil for spellings with fewer digits.
  func parse(_ spelling: SpellingView) -> Int64? {
    guard spelling.count == count, fits(spelling) else { return nil }
    var days = 0
    if day >= 0 {
      let ofCentury = pair(spelling, yearOfCentury)
      // Two digits as in POSIX.
      let century = century >= 0 ? pair(spelling, century) : ofCentury < 69 ? 20 : 19
      guard
        let found = DateSpelling.days(
          century, ofCentury, pair(spelling, month), pair(spelling, day))
      else { return nil }
      days = Int(found)
    }
    let (hour, minute) = (pair(spelling, hour), pair(spelling, minute))
    let second = pair(spelling, second)
    guard hour < 24, minute < 60, second < 60 else { return nil }
    let seconds = (hour &* 60 &+ minute) &* 60 &+ second
    return Int64(days) &* DateTime.microsecondsPerDay &+ Int64(seconds) &* 1_000_000
  }

  /// Whether there are digits in all places for them, and the other bytes in theirs.
  @inline(__always)
  private func fits(_ spelling: SpellingView) -> Bool {
    var misfits: UInt64 = 0
    var offset = 0
    while offset < count {
      // Zeros behind the end, as in the template.
      let template = DigitTemplate(templates[offset &>> 3])
      misfits |= template.misfits(template.digits(spelling.word(at: offset)))
      offset &+= 8
    }
    return misfits == 0
  }

  /// The value of two digits; 0 when there is no such field.
  @inline(__always)
  private func pair(_ spelling: SpellingView, _ place: Int) -> Int {
    if place < 0 { return 0 }
    return Int(spelling[place] &- 0x30) &* 10 &+ Int(spelling[place &+ 1] &- 0x30)
  }
}
