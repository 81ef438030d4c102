/// How the spellings of a column are read: its type, and its notation if it has one.
package struct Reading: Sendable, Hashable {
  package let type: ColumnType
  package let notation: Notation?

  @inlinable
  package init(_ type: ColumnType, _ notation: Notation? = nil) {
    self.type = type
    self.notation = notation
  }

  package static let int = Reading(.int)
  package static let double = Reading(.double)
  package static let bool = Reading(.bool)
  package static let date = Reading(.date)
  package static let dateTime = Reading(.dateTime)
  package static let time = Reading(.time)
  package static let uuid = Reading(.uuid)
  package static let text = Reading(.text)
  package static let data = Reading(.data)

  /// The type, when spellings are read without a notation: stored numbers are then the values.
  @inline(__always)
  var plainType: ColumnType? { notation == nil ? type : nil }

  /// True when a cluster's dates in that style are read as the stored days.
  @inline(__always)
  func readsDays(_ style: DateStyle) -> Bool {
    if let notation { return notation.reads(style) }
    return type == .date && style == .iso
  }

  /// The number that represents a value in comparisons, for types compared as 64-bit integers; nil for other
  /// types, and when the spelling does not fit the type.
  @inline(__always)
  package func integer(_ spelling: UnsafeRawBufferPointer) -> Int64? {
    let view = SpellingView(spelling)
    if let notation { return notation.integer(view) }
    switch type {
    case .int: return PlainSpelling.int(view)
    case .bool: return PlainSpelling.bool(view).map { $0 ? 1 : 0 }
    case .date: return PlainSpelling.date(view)
    case .dateTime: return PlainSpelling.dateTime(view)?.microsecondsSince1970
    case .time: return PlainSpelling.time(view)
    case .double, .decimal, .uuid, .text, .data: return nil
    }
  }

  /// The 17 bytes that represent a decimal or a UUID in comparisons; nil for other types, and when the
  /// spelling does not fit.
  @inline(never)
  package func wide(_ spelling: UnsafeRawBufferPointer) -> WideNumber? {
    switch type {
    case .decimal: decimal(spelling).map { WideNumber($0) }
    case .uuid: PlainSpelling.uuid(SpellingView(spelling)).map { WideNumber($0) }
    default: nil
    }
  }

  /// The decimal of a spelling; nil when it is not one.
  func decimal(_ spelling: UnsafeRawBufferPointer) -> ExactDecimal? {
    let view = SpellingView(spelling)
    if let notation { return notation.decimal(view) }
    return PlainSpelling.decimal(view)
  }

  /// True when the spelling has a value. For decimals and UUIDs this needs no memory, unlike a `Value`.
  package func reads(_ spelling: UnsafeRawBufferPointer) -> Bool {
    switch type {
    case .decimal: decimal(spelling) != nil
    case .uuid: PlainSpelling.isUUID(SpellingView(spelling))
    default: Value(spelling: spelling, as: self) != nil
    }
  }

  /// The double of a spelling; nil when it is not one.
  @inline(__always)
  package func double(_ spelling: UnsafeRawBufferPointer) -> Double? {
    let view = SpellingView(spelling)
    if let notation { return notation.double(view) }
    return PlainSpelling.double(view)
  }
}

extension Value {
  /// The value of a spelling in a column that is read this way; nil when it does not fit.
  @inline(__always)
  package init?(spelling: UnsafeRawBufferPointer, as reading: Reading) {
    guard let notation = reading.notation else {
      self.init(spelling: spelling, type: reading.type)
      return
    }
    guard let value = notation.value(SpellingView(spelling)) else { return nil }
    self = value
  }

  init?(spelling: [UInt8], as reading: Reading) {
    guard let value = spelling.withUnsafeBytes({ Value(spelling: $0, as: reading) }) else {
      return nil
    }
    self = value
  }
}
