/// Spellings of numbers with a decimal comma, or with separators between their thousands.
///
/// A pattern is an example: `1,5`, `1.234,5`, `1,234.5`, `1 234,5`; for whole numbers `1,234`. Either all
/// thousands are separated, by the same byte, or none are. A blank also stands for no-break spaces.
struct NumberPattern: Sendable, Hashable {
  let decimal: UInt8
  /// Nil when there is none.
  let thousands: UInt8?

  static let separators: [UInt8] = Array(",. '_".utf8)

  /// Nil when the text is not such an example for the type.
  init?(_ text: String, _ type: ColumnType) {
    var rest = Array(text.utf8)[...]
    guard type == .int || type == .double, rest.popFirst() == 0x31 else { return nil }
    var thousands: UInt8?
    if rest.count >= 4, rest.dropFirst().prefix(3).elementsEqual("234".utf8) {
      thousands = rest.popFirst()
      rest = rest.dropFirst(3)
    }
    var decimal: UInt8 = thousands == 0x2E ? 0x2C : 0x2E
    if type == .double {
      guard let byte = rest.popFirst(), rest.popFirst() == 0x35 else { return nil }
      decimal = byte
    }
    guard rest.isEmpty else { return nil }
    self.init(decimal: decimal, thousands: thousands)
  }

  /// Nil when the two are equal, or have another meaning in numbers.
  init?(decimal: UInt8, thousands: UInt8?) {
    guard decimal == 0x2C || decimal == 0x2E, thousands != decimal,
      thousands.map(Self.separators.contains) ?? true
    else { return nil }
    self.decimal = decimal
    self.thousands = thousands
  }

  /// The number, if it has at most 16 bytes and no thousands, and its plain spelling is canonical; nil for
  /// all other spellings.
  @inline(__always)
  func canonical(_ spelling: SpellingView) -> ScaledNumber? {
    guard spelling.count <= 16 else { return nil }
    let first = spelling.word(at: 0)
    let last = spelling.count > 8 ? spelling.word(at: 8) : 0
    if decimal == 0x2C {
      // A point has another meaning then, or none.
      let points: UInt64 = 0x2E2E_2E2E_2E2E_2E2E
      guard Self.marks(first ^ points) | Self.marks(last ^ points) == 0 else { return nil }
    }
    let number = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { room in
      guard let base = room.baseAddress else { return ScaledNumber.misfit }
      base.storeBytes(of: withPoint(first).littleEndian, as: UInt64.self)
      base.storeBytes(of: withPoint(last).littleEndian, toByteOffset: 8, as: UInt64.self)
      return NumberSpelling.parseCanonical(
        SpellingView(UnsafeRawPointer(base), count: spelling.count, readable: 16))
    }
    return number.isMisfit ? nil : number
  }

  /// The bytes with a point for each decimal comma.
  @inline(__always)
  private func withPoint(_ word: UInt64) -> UInt64 {
    // The two differ by one bit.
    decimal == 0x2E ? word : word ^ Self.marks(word ^ 0x2C2C_2C2C_2C2C_2C2C) &>> 6
  }

  /// The highest bit of each byte that is 0.
  @inline(__always)
  private static func marks(_ word: UInt64) -> UInt64 {
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    return ~((word & low) &+ low | word | low)
  }

  /// The number in plain spelling: no separators, and a decimal point; nil when the separators are misplaced.
  ///
  /// - Parameter use: gets the bytes, valid during the call.
  func withPlain<Result>(_ spelling: SpellingView, _ use: (SpellingView) -> Result?) -> Result? {
    guard spelling.count > 0, spelling.count <= NumberSpelling.maximumLength else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: spelling.count &+ 8, alignment: 8) { room in
      var length = 0
      guard fill(room, spelling, &length) else { return nil }
      return use(SpellingView(UnsafeRawBufferPointer(rebasing: room[..<length])))
    }
  }

  private func fill(
    _ room: UnsafeMutableRawBufferPointer, _ spelling: SpellingView, _ length: inout Int
  ) -> Bool {
    var index = 0
    func take(_ byte: UInt8) {
      room[length] = byte
      length &+= 1
    }
    if spelling[0] == 0x2B || spelling[0] == 0x2D {
      take(spelling[0])
      index = 1
    }
    // Digits since the sign or the last separator, and that separator.
    var digits = 0
    var separator: Separator?
    while index < spelling.count {
      let byte = spelling[index]
      if byte &- 0x30 < 10 {
        take(byte)
        digits &+= 1
        index &+= 1
        continue
      }
      guard let found = self.separator(spelling, index) else { break }
      let isFirst = separator == nil
      guard isFirst ? digits >= 1 && digits <= 3 : digits == 3 && separator == found else {
        return false
      }
      separator = found
      digits = 0
      index &+= found.width
    }
    if separator != nil, digits != 3 { return false }
    // `50,` is no number.
    if index < spelling.count, spelling[index] == decimal {
      guard index &+ 1 < spelling.count else { return false }
      take(0x2E)
      index &+= 1
    }
    while index < spelling.count {
      let byte = spelling[index]
      // Digits and an exponent cannot be separators.
      guard byte &- 0x30 < 10 || byte | 0x20 == 0x65 || byte == 0x2B || byte == 0x2D else {
        return false
      }
      take(byte)
      index &+= 1
    }
    return true
  }

  private struct Separator: Equatable {
    let first: UInt8
    let width: Int
    let last: UInt8
  }

  private func separator(_ spelling: SpellingView, _ index: Int) -> Separator? {
    guard let thousands else { return nil }
    let byte = spelling[index]
    if byte == thousands { return Separator(first: byte, width: 1, last: byte) }
    guard thousands == 0x20 else { return nil }
    // U+00A0 and U+202F.
    if byte == 0xC2, index &+ 1 < spelling.count, spelling[index &+ 1] == 0xA0 {
      return Separator(first: byte, width: 2, last: 0xA0)
    }
    if byte == 0xE2, index &+ 2 < spelling.count, spelling[index &+ 1] == 0x80,
      spelling[index &+ 2] == 0xAF
    {
      return Separator(first: byte, width: 3, last: 0xAF)
    }
    return nil
  }
}
