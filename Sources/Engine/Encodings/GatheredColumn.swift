/// A span that reaches beyond its arena.
struct SpanOutside: Error {
  let column: Int
  let row: Int
}

/// One column of the rows to encode: its spans side by side, checked against the arena.
///
/// Unsafe for speed; `init` proves that every span lies inside the arena, so later code need not check. Valid
/// as long as the arena and the scratch memory.
struct GatheredColumn {
  /// The arena the spans point into.
  private let base: UnsafeRawPointer
  private let limit: Int
  let spans: UnsafePointer<TextSpan>
  let rowCount: Int
  let nullCount: Int
  /// The lengths of the spellings that are not null.
  let lengths: PackedStringsPlan

  var valueCount: Int { rowCount &- nullCount }

  /// At most this many rows may be exceptions.
  var maximumExceptions: Int { valueCount &>> 4 }

  /// Copies column `column` of a row-major matrix of `stride` columns into `scratch`.
  init(
    arena: UnsafeRawBufferPointer, matrix: UnsafePointer<TextSpan>, column: Int, stride: Int,
    rowCount: Int, scratch: UnsafeMutablePointer<TextSpan>
  ) throws(SpanOutside) {
    let limit = arena.count
    var source = matrix + column
    var total = 0
    var minimum = UInt32.max
    var maximum: UInt32 = 0
    var nulls = 0
    for row in 0..<rowCount {
      let span = source.pointee
      source += stride
      if span.isNull {
        scratch[row] = .null
        nulls &+= 1
        continue
      }
      scratch[row] = span
      guard Int(span.offset) &+ Int(span.length) <= limit else {
        throw SpanOutside(column: column, row: row)
      }
      total &+= Int(span.length)
      minimum = min(minimum, span.length)
      maximum = max(maximum, span.length)
    }
    // With an empty arena all spans are empty or null, and nothing is read from it.
    base = arena.baseAddress ?? UnsafeRawPointer(scratch)
    self.limit = limit
    spans = UnsafePointer(scratch)
    self.rowCount = rowCount
    nullCount = nulls
    lengths = PackedStringsPlan(
      count: rowCount &- nulls, total: total, minimum: Int(minimum), maximum: Int(maximum))
  }

  @inline(__always)
  func isNull(_ row: Int) -> Bool { spans[row].isNull }

  /// The first spelling that is not null.
  var firstSpelling: SpellingView? {
    (0..<rowCount).first { !isNull($0) }.map { spelling($0) }
  }

  /// The spelling of a row that is not null.
  @inline(__always)
  func spelling(_ row: Int) -> SpellingView { spelling(spans[row]) }

  @inline(__always)
  func spelling(_ span: TextSpan) -> SpellingView {
    let offset = Int(span.offset)
    return SpellingView(base + offset, count: Int(span.length), readable: limit &- offset)
  }

  /// The canonical decimal that is spelled there; see `NumberSpelling.parseCanonical`.
  @inline(__always)
  func decimal(_ span: TextSpan) -> ScaledNumber {
    let end = Int(span.offset) &+ Int(span.length)
    let count = Int(span.length)
    guard count &- 1 < AlignedNumber.mostBytes, count > 0, end >= AlignedNumber.mostBytes else {
      return otherDecimal(span)
    }
    return AlignedNumber.parse(base + end, count: count)
  }

  /// Reads spellings that are long, or lie at the very beginning of the arena.
  @inline(never)
  private func otherDecimal(_ span: TextSpan) -> ScaledNumber {
    NumberSpelling.parseCanonical(spelling(span))
  }

  /// Copies a spelling. Up to 8 bytes behind it may be overwritten too.
  ///
  /// - Precondition: `target` has room for the spelling and 8 bytes.
  @inline(__always)
  func copy(_ span: TextSpan, to target: UnsafeMutableRawPointer) {
    // Null has length 0 and an offset outside the arena, which must not even be read.
    if span.length == 0 { return }
    let view = spelling(span)
    if view.count <= 8 {
      target.storeBytes(of: view.firstWord.littleEndian, as: UInt64.self)
    } else {
      target.copyMemory(from: view.pointer, byteCount: view.count)
    }
  }
}
