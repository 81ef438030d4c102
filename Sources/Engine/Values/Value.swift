/// One field's value, or null.
///
/// A database stores *spellings*: the unchanged bytes of each field. A value is the meaning of a spelling
/// under a column's type, so several spellings (`5`, `+5`) may have one value.
///
/// Thread rule: a plain value, `Sendable`.
public enum Value: Sendable {
  /// No value.
  case null
  /// A whole number of 64 bits.
  case int(Int64)
  /// Includes NaN and infinities. NaN equals NaN here, since the question is whether two stored values are
  /// the same.
  case double(Double)
  /// True or false.
  case bool(Bool)
  /// A day.
  case date(CalendarDate)
  /// A moment.
  case dateTime(DateTime)
  /// A time of day.
  case time(TimeOfDay)
  /// A decimal number that is never rounded.
  indirect case decimal(ExactDecimal)
  /// A UUID.
  indirect case uuid(UniqueIdentifier)
  /// Unicode text, stored as UTF-8.
  case text(String)
  /// Bytes without further meaning.
  case data([UInt8])

  /// The value of a spelling in a column of that type; nil when it does not fit.
  ///
  /// Strict, and the same in every locale:
  /// - int: an optional sign and digits, within 64 bits. No leading zeros: `007` is text. `-0` is
  ///   a double only.
  /// - double: an optional sign, digits, an optional fraction and exponent (`-1.5e-3`, `.5`), with a finite
  ///   value; or `NaN`, `nan`, `inf`, `Inf`, `Infinity`, the last three also behind a `-`, in exactly
  ///   this spelling. A point may stand at the end (`50.`). No leading zeros, no hexadecimal.
  /// - bool: `true`, `True`, `TRUE`, `false`, `False`, `FALSE`.
  /// - date: `YYYY-MM-DD`, a day that exists.
  /// - dateTime: `YYYY-MM-DD`, `T` or a space, `HH:MM`, then optionally `:SS` with up to six digits of a
  ///   fraction, then optionally `Z` or an offset `±HH:MM`. Without an offset it means UTC. A date alone
  ///   means the moment at which it begins.
  /// - time: `HH:MM`, then optionally `:SS` with up to six digits of a fraction.
  /// - decimal: a number spelled as for a double, except `NaN` and infinities, of up to 38 digits, any of
  ///   them behind the point.
  /// - uuid: 32 hexadecimal digits in any case, with or without hyphens, in braces or behind `urn:uuid:`.
  /// - text: valid UTF-8. data: anything.
  ///
  /// Blanks and tabs around a spelling are not part of its value, except for text and data.
  ///
  /// - Complexity: O(n) in the spelling's length.
  public init?(spelling: [UInt8], type: ColumnType) {
    guard let value = spelling.withUnsafeBytes({ Value(spelling: $0, type: type) }) else {
      return nil
    }
    self = value
  }

  /// The value of a text in a column of that type; nil when it does not fit.
  public init?(spelling: String, type: ColumnType) {
    self.init(spelling: Array(spelling.utf8), type: type)
  }

  package init?(spelling: UnsafeRawBufferPointer, type: ColumnType) {
    let view = SpellingView(spelling)
    switch type {
    case .int:
      guard let int = PlainSpelling.int(view) else { return nil }
      self = .int(int)
    case .double:
      guard let double = PlainSpelling.double(view) else { return nil }
      self = .double(double)
    case .bool:
      guard let bool = PlainSpelling.bool(view) else { return nil }
      self = .bool(bool)
    case .date:
      guard let days = PlainSpelling.date(view) else { return nil }
      self = .date(CalendarDate(clamping: days))
    case .dateTime:
      guard let moment = PlainSpelling.dateTime(view) else { return nil }
      self = .dateTime(moment)
    case .time:
      guard let time = PlainSpelling.time(view) else { return nil }
      self = .time(TimeOfDay(clamping: time))
    case .decimal:
      guard let decimal = PlainSpelling.decimal(view) else { return nil }
      self = .decimal(decimal)
    case .uuid:
      guard let identifier = PlainSpelling.uuid(view) else { return nil }
      self = .uuid(identifier)
    case .text:
      guard let text = String(spelled: spelling) else { return nil }
      self = .text(text)
    case .data: self = .data(Array(spelling))
    }
  }

  /// The bytes this value is stored as; empty for null, which has no spelling.
  ///
  /// Doubles are spelled as by Swift's `description`: the shortest digits that read back as the same number,
  /// always with a point or an exponent (`5.0`, `1e+16`). Date-times are spelled `2018-08-03T12:34:56Z`, with
  /// a fraction of six digits when it is not 0.
  public var spelling: [UInt8] {
    var bytes: [UInt8] = []
    appendSpelling(to: &bytes)
    return bytes
  }

  /// Appends the bytes of `spelling`.
  package func appendSpelling(to bytes: inout [UInt8]) {
    switch self {
    case .null: return
    case .bool(let bool): bytes.append(contentsOf: (bool ? "true" : "false").utf8)
    case .text(var text): text.withUTF8 { bytes.append(contentsOf: $0) }
    case .data(let data): bytes.append(contentsOf: data)
    case .time(let time): bytes.append(contentsOf: time.spelling)
    case .decimal(let decimal): bytes.append(contentsOf: decimal.description.utf8)
    case .uuid(let identifier): bytes.append(contentsOf: identifier.spelling)
    case .double(let double):
      if let short = ScaledNumber(shortest: double) {
        return Self.append(to: &bytes) { NumberSpelling.write(short, to: $0) }
      }
      bytes.append(contentsOf: (double.isNaN ? "NaN" : double.description).utf8)
    case .int(let int):
      Self.append(to: &bytes) { NumberSpelling.write(int, to: $0) }
    case .date(let date):
      Self.append(to: &bytes) { DateSpelling.write(date, to: $0) }
    case .dateTime(let moment):
      let hasFraction = moment.microsecondsSince1970 % 1_000_000 != 0
      let style = DateTimeStyle(fractionDigits: hasFraction ? 6 : 0)
      Self.append(to: &bytes) { DateSpelling.write(moment, style: style, to: $0) }
    }
  }

  private static func append(
    to bytes: inout [UInt8], _ write: (UnsafeMutableRawPointer) -> Int
  ) {
    withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
      guard let base = room.baseAddress else { return }
      let count = write(base)
      bytes.append(contentsOf: UnsafeRawBufferPointer(start: base, count: count))
    }
  }

  /// The type of a column made for this value; nil for null, which any column may hold.
  public var columnType: ColumnType? {
    switch self {
    case .null: nil
    case .int: .int
    case .double: .double
    case .bool: .bool
    case .date: .date
    case .dateTime: .dateTime
    case .time: .time
    case .decimal: .decimal
    case .uuid: .uuid
    case .text: .text
    case .data: .data
    }
  }

  /// True when a column of that type takes this value without loss: the types are the same, the value is
  /// null, or it is a whole number and the column has decimals, or doubles that hold it exactly. The column
  /// then returns it as a decimal or a double.
  public func fits(_ type: ColumnType) -> Bool { converted(to: type) != nil }

  /// The value that a column of that type keeps for this one; nil when it does not fit.
  package func converted(to type: ColumnType) -> Value? {
    if columnType == nil || columnType == type { return self }
    if case .int(let int) = self, type == .double {
      return Double(exactly: int).map(Value.double)
    }
    if case .int(let int) = self, type == .decimal { return .decimal(ExactDecimal(int)) }
    return nil
  }

  /// The possible spellings of the value in a primary key of that type, the likeliest first: `5.0` and `5`
  /// are the same double.
  package func keySpellings(in type: ColumnType) -> [[UInt8]] {
    guard type == .double, case .double(let double)? = converted(to: type) else {
      return [spelling]
    }
    let whole = Int64(exactly: double).map { [Value.int($0).spelling] } ?? []
    return [Value.double(double).spelling] + whole
  }
}

extension Value: Equatable {
  /// True for the same case with the same value, whatever its spelling: null equals null, NaN equals NaN, and
  /// `.int(5)` is not `.double(5)`. Queries compare numbers across types; see `Predicate`.
  ///
  /// Texts are equal when their bytes are, as in keys, groups and queries: an `é` of one scalar differs from
  /// one of two scalars, although Swift's strings are equal.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.int(let left), .int(let right)): left == right
    case (.double(let left), .double(let right)): left == right || (left.isNaN && right.isNaN)
    case (.bool(let left), .bool(let right)): left == right
    case (.date(let left), .date(let right)): left == right
    case (.dateTime(let left), .dateTime(let right)): left == right
    case (.time(let left), .time(let right)): left == right
    case (.decimal(let left), .decimal(let right)): left == right
    case (.uuid(let left), .uuid(let right)): left == right
    case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
    case (.data(let left), .data(let right)): left == right
    default: false
    }
  }
}

extension Value: Hashable {
  /// Hashes the parts that `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0 as UInt8)
    case .int(let int):
      hasher.combine(1 as UInt8)
      hasher.combine(int)
    case .double(let double):
      hasher.combine(2 as UInt8)
      // All NaNs are equal.
      if !double.isNaN { hasher.combine(double) }
    case .bool(let bool):
      hasher.combine(3 as UInt8)
      hasher.combine(bool)
    case .date(let date):
      hasher.combine(4 as UInt8)
      hasher.combine(date)
    case .dateTime(let moment):
      hasher.combine(5 as UInt8)
      hasher.combine(moment)
    case .text(let text):
      hasher.combine(6 as UInt8)
      text.hashBytes(into: &hasher)
    case .data(let data):
      hasher.combine(7 as UInt8)
      hasher.combine(data)
    case .time(let time):
      hasher.combine(8 as UInt8)
      hasher.combine(time)
    case .decimal(let decimal):
      hasher.combine(9 as UInt8)
      hasher.combine(decimal)
    case .uuid(let identifier):
      hasher.combine(10 as UInt8)
      hasher.combine(identifier)
    }
  }
}

extension String {
  /// True for the same UTF-8; `==` of strings compares characters.
  package func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }

  fileprivate func hashBytes(into hasher: inout Hasher) {
    let isDone: Void? = utf8.withContiguousStorageIfAvailable {
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    // Strings of other runtimes may have no contiguous UTF-8.
    if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
    hasher.combine(0xFF as UInt8)
  }
}
