/// Strings of a column, compressed by a table of digits or symbols before they are written.
struct CompressedStrings: ~Copyable {
  private var trainer = SymbolTrainer()
  private var matcher = SymbolMatcher()
  private var coder = SymbolCoder()
  private var codes = OutputBuffer()
  private var lengths = Scratch<UInt32>()
  private var strings = PackedStringsPlan()
  private var digits = DigitPacker()
  private var areDigits = false
  /// True when symbols have prefix codes.
  private var areCoded = false

  /// Bytes that `write` appends.
  var size: Int { areDigits ? digits.size : symbolSize }

  private var tableSize: Int { areCoded ? coder.tableSize : matcher.tableSize }
  private var symbolSize: Int { tableSize + strings.size }

  /// True when the last strings had a pattern of digits but are not stored by it: too many did not fit it, or
  /// symbols took fewer bytes.
  var areNearlyDigits: Bool { !areDigits && digits.hasPattern }

  /// The strings to write as exceptions.
  var exceptions: PackedStringsPlan { areDigits ? digits.exceptions : PackedStringsPlan() }
  /// The indices of these strings, ascending.
  var exceptionRows: UnsafePointer<UInt32> { digits.strayRows }

  /// Strings of more bytes in all get prefix codes: their larger table pays off.
  private static let codedBytes = 160 << 10

  /// Makes a table for the strings and compresses all of them.
  ///
  /// - Parameters:
  ///   - plan: the plan for the uncompressed strings.
  ///   - mostExceptions: the largest allowed number of exceptions.
  ///   - span: the place of each string.
  /// - Returns: false when compression is unlikely to make the strings smaller.
  mutating func compress(
    _ column: GatheredColumn, _ plan: PackedStringsPlan, effort: EncodingEffort,
    mostExceptions: Int, span: (Int) -> TextSpan
  ) -> Bool {
    digits.forget()
    areDigits =
      plan.total >= effort.smallestDigits
      && digits.pack(column, plan, mostExceptions: mostExceptions, span: span)
    guard plan.total >= effort.smallestCompressed else { return areDigits }
    if areDigits, digits.looksRandom { return true }
    guard compressBySymbols(column, plan, span: span) else { return areDigits }
    if areDigits, digits.size &+ digits.exceptions.size <= symbolSize { return true }
    areDigits = false
    return true
  }

  /// Trains a table of symbols and compresses the strings by it. Returns false, perhaps before all are
  /// compressed, when that is unlikely to make them smaller, or they become too long.
  private mutating func compressBySymbols(
    _ column: GatheredColumn, _ plan: PackedStringsPlan, span: (Int) -> TextSpan
  ) -> Bool {
    areCoded = plan.total > Self.codedBytes
    trainer.train(
      &matcher, column, count: plan.count, total: plan.total, limits: areCoded ? .coded : .narrow,
      span: span)
    codes.removeAll()
    strings = PackedStringsPlan()
    _ = lengths.reserve(plan.count)
    if areCoded {
      coder.load(&matcher, trainer)
      return compressByPrefixCodes(column, plan, span: span)
    }
    var progress = Progress(plan, tableSize: tableSize)
    for index in 0..<plan.count {
      let text = Self.text(column, span(index))
      let length = matcher.compress(text, to: codes.reserve(2 &* text.count &+ 8))
      codes.advance(length)
      lengths.pointer[index] = UInt32(truncatingIfNeeded: length)
      strings.add(length: length)
      guard progress.add(text.count, codes: codes.count) else { return false }
    }
    return codes.count <= Int(UInt32.max) - 1
  }

  private mutating func compressByPrefixCodes(
    _ column: GatheredColumn, _ plan: PackedStringsPlan, span: (Int) -> TextSpan
  ) -> Bool {
    var progress = Progress(plan, tableSize: tableSize)
    let lengths = lengths.pointer
    var (index, isWorthIt) = (0, true)
    var strings = PackedStringsPlan()
    coder.compress(
      plan.count, matcher, to: &codes, text: { Self.text(column, span($0)) }
    ) { length, end in
      lengths[index] = UInt32(truncatingIfNeeded: length)
      strings.add(length: length)
      isWorthIt = progress.add(Int(span(index).length), codes: end)
      index &+= 1
      return isWorthIt
    }
    self.strings = strings
    return isWorthIt && codes.count <= Int(UInt32.max) - 1
  }

  /// The text of a span; a null has none, and a place outside of the column.
  @inline(__always)
  private static func text(_ column: GatheredColumn, _ span: TextSpan) -> SpellingView {
    span.length == 0
      ? SpellingView(UnsafeRawBufferPointer(start: nil, count: 0)) : column.spelling(span)
  }

  /// Tells early when compression is unlikely to pay.
  private struct Progress {
    private let total: Int
    private let tableSize: Int
    private var bytes = 0
    private var checkpoint: Int

    init(_ plan: PackedStringsPlan, tableSize: Int) {
      (total, self.tableSize) = (plan.total, tableSize)
      checkpoint = min(total, 16_384)
    }

    /// Adds a string's bytes; returns false when going on is of no use.
    @inline(__always)
    mutating func add(_ length: Int, codes: Int) -> Bool {
      bytes &+= length
      if bytes < checkpoint { return true }
      checkpoint = .max
      // The saving must pay for the table, and for reading through it.
      let saved = (bytes &- codes) / 16 &* (total / max(bytes / 16, 1))
      return saved >= tableSize &+ total / 16
    }
  }

  func write(into output: inout OutputBuffer) {
    if areDigits { return digits.write(into: &output) }
    areCoded ? coder.writeTable(matcher, into: &output) : matcher.writeTable(into: &output)
    let lengths = lengths.pointer
    strings.writeIndex(into: &output) { Int(lengths[$0]) }
    output.append(UnsafeRawPointer(codes.start), count: codes.count)
  }
}
