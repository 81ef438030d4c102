/// Finds out that a notation reads a spelling, for most of those that it reads.
///
/// A plain value, without the arrays of a notation, which would be retained for every row of an import.
package struct UsualSpellings: Sendable {
  enum Kind: Sendable {
    case dates(FixedDatePattern)
    case numbers(NumberPattern, ColumnType)
  }

  let kind: Kind

  /// True when the notation reads the spelling; false when that is not known.
  ///
  /// - Precondition: the span lies within the memory.
  @inline(__always)
  package func reads(_ span: TextSpan, in memory: UnsafeRawBufferPointer) -> Bool {
    guard let base = memory.baseAddress else { return false }
    let offset = Int(span.offset)
    return reads(
      SpellingView(base + offset, count: Int(span.length), readable: memory.count &- offset))
  }

  @inline(never)
  func reads(_ spelling: SpellingView) -> Bool {
    switch kind {
    case .dates(let pattern): return pattern.parse(spelling) != nil
    case .numbers(let pattern, let type):
      guard let number = pattern.canonical(spelling) else { return false }
      return type == .double || number.scale == 0
    }
  }
}
