/// Eight bytes of which some are digits, at known places, and the others are known.
///
/// A word that fits differs from `expected`, which has `0` for each digit, by the values of the digits.
struct DigitTemplate: Sendable, Hashable {
  private let expected: UInt64
  /// What is added to a difference to see whether it is too large: the sum then has the byte's highest bit.
  private let room: UInt64

  /// - Parameter expected: the first byte lowest. Every `0` stands for a digit.
  @inline(__always)
  init(_ expected: UInt64) {
    self.expected = expected
    // The lowest seven bits of each byte that is no zero add up to the highest one.
    let others = expected ^ 0x3030_3030_3030_3030
    let marks = (others & 0x7F7F_7F7F_7F7F_7F7F &+ 0x7F7F_7F7F_7F7F_7F7F | others) &>> 7
    room = 0x7676_7676_7676_7676 &+ (marks & 0x0101_0101_0101_0101) &* 9
  }

  /// The value of each digit, 0 in the other places; meaningless where `misfits` has a mark.
  @inline(__always)
  func digits(_ word: UInt64) -> UInt64 { word ^ expected }

  /// A mark in the highest bit of at least one byte unless the word fits; none when it does.
  @inline(__always)
  func misfits(_ digits: UInt64) -> UInt64 {
    (digits | (digits &+ room)) & 0x8080_8080_8080_8080
  }

  /// The value of two digits that follow each other, in the byte of the first one.
  @inline(__always)
  static func pairs(_ digits: UInt64) -> UInt64 { digits &* 10 &+ digits &>> 8 }

  /// The pair at a place.
  @inline(__always)
  static func pair(_ pairs: UInt64, at place: Int) -> Int {
    Int(truncatingIfNeeded: pairs &>> UInt64(truncatingIfNeeded: place &* 8) & 0xFF)
  }
}
