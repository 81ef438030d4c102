/// Reads values in the plain spelling of their type, with or without blanks around them.
///
/// Aligned tables and output of fixed width have blanks and tabs around their fields. These belong to the
/// spelling, which is kept, and not to the value.
enum PlainSpelling {
  @inline(__always)
  static func int(_ spelling: SpellingView) -> Int64? {
    read(spelling, NumberSpelling.parseInt)
  }

  @inline(__always)
  static func double(_ spelling: SpellingView) -> Double? {
    read(spelling, NumberSpelling.parseDouble)
  }

  @inline(__always)
  static func bool(_ spelling: SpellingView) -> Bool? {
    read(spelling, SpellingClass.parseBool)
  }

  /// Days since 1970.
  @inline(__always)
  static func date(_ spelling: SpellingView) -> Int64? {
    read(spelling) { DateSpelling.parseDate($0).map(Int64.init) }
  }

  /// Microseconds since midnight.
  @inline(__always)
  static func time(_ spelling: SpellingView) -> Int64? { read(spelling, TimeOfDay.parse) }

  @inline(never)
  static func decimal(_ spelling: SpellingView) -> ExactDecimal? {
    read(spelling) { ExactDecimal.parse($0) }
  }

  @inline(never)
  static func uuid(_ spelling: SpellingView) -> UniqueIdentifier? {
    read(spelling, UniqueIdentifier.parse)
  }

  /// True when `uuid` would find one.
  @inline(never)
  static func isUUID(_ spelling: SpellingView) -> Bool {
    read(spelling) { UniqueIdentifier.isSpelled($0) ? true : nil } ?? false
  }

  /// A day alone means the moment at which it begins, in UTC.
  @inline(__always)
  static func dateTime(_ spelling: SpellingView) -> DateTime? {
    read(spelling) { inner in
      if let parsed = DateSpelling.parseDateTime(inner) {
        return DateTime(clamping: parsed.microseconds)
      }
      return DateSpelling.parseDate(inner).map {
        DateTime(clamping: Int64($0) &* DateTime.microsecondsPerDay)
      }
    }
  }

  /// Applies `parse` to a spelling, or to the part between the blanks around it.
  @inline(__always)
  static func read<Result>(
    _ spelling: SpellingView, _ parse: (SpellingView) -> Result?
  ) -> Result? {
    if let result = parse(spelling) { return result }
    guard spelling.hasBlanksAround, let inner = spelling.withoutBlanks else { return nil }
    return parse(inner)
  }
}

extension SpellingView {
  /// True when the first byte or the last is a blank or a tab.
  @inline(__always)
  var hasBlanksAround: Bool {
    count > 0 && (Self.isBlank(self[0]) || Self.isBlank(self[count &- 1]))
  }

  /// The spelling without the blanks and tabs around it; nil when nothing else is left.
  @inline(never)
  var withoutBlanks: SpellingView? {
    var (start, end) = (0, count)
    while start < end, Self.isBlank(self[start]) { start &+= 1 }
    while start < end, Self.isBlank(self[end &- 1]) { end &-= 1 }
    return start == end ? nil : part(start..<end)
  }

  @inline(__always)
  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension UnsafeRawBufferPointer {
  /// True when a field begins or ends with a blank or a tab.
  package var hasBlanksAround: Bool { SpellingView(self).hasBlanksAround }
}
