import Base

/// A pattern of `like`: `%` matches any text, `_` one Unicode scalar.
struct LikePattern: Sendable {
  private enum Token: Sendable {
    case byte(UInt8)
    case anyScalar
    case anyText
  }

  private var tokens: [Token] = []
  private var countsScalars = false
  /// The bytes before the first wildcard.
  private(set) var literalPrefix: [UInt8] = []

  /// - Parameter escape: the scalar after which `%`, `_` and the scalar itself are literal.
  /// - Returns: nil when the escape ends the pattern or precedes another scalar.
  init?(_ pattern: String, escape: Unicode.Scalar?, ignoringCase: Bool) {
    var scalars = pattern.unicodeScalars[...]
    var literal = String.UnicodeScalarView()
    func bytes() -> [UInt8] {
      ignoringCase ? CaseFolding.fold(String(literal)) : Array(String(literal).utf8)
    }
    func flush(_ tokens: inout [Token], _ prefix: inout [UInt8]) {
      let bytes = bytes()
      if tokens.isEmpty { prefix = bytes }
      tokens += bytes.map { .byte($0) }
      literal = String.UnicodeScalarView()
    }
    while let scalar = scalars.popFirst() {
      if let escape, scalar == escape {
        guard let next = scalars.popFirst(), next == escape || next == "%" || next == "_" else {
          return nil
        }
        literal.append(next)
      } else if scalar == "%" || scalar == "_" {
        flush(&tokens, &literalPrefix)
        tokens.append(scalar == "%" ? .anyText : .anyScalar)
        if scalar == "_" { countsScalars = true }
      } else {
        literal.append(scalar)
      }
    }
    flush(&tokens, &literalPrefix)
  }

  /// - Complexity: O(text * pattern) at worst, O(text) for common patterns.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    matches(text) { Self.end(ofScalarAt: $0, text) }
  }

  /// Matches text without its case: a scalar such as `ß` may be several there, and one for `_`.
  ///
  /// - Parameter room: memory for the folded text, reused between calls.
  func matchesFolded(_ text: UnsafeRawBufferPointer, room: inout [UInt8]) -> Bool {
    guard countsScalars, text.contains(where: { $0 >= 0x80 }) else {
      CaseFolding.fold(text, into: &room)
      return room.withUnsafeBytes { matches($0) }
    }
    let ends = CaseFolding.foldScalars(text, endingAt: &room)
    return room.withUnsafeBytes { folded in
      matches(folded) { start in
        let place = partitionPoint(0..<ends.count) { ends[$0] > start }
        return place < ends.count ? ends[place] : folded.count
      }
    }
  }

  @inline(__always)
  private func matches(_ text: UnsafeRawBufferPointer, _ end: (Int) -> Int) -> Bool {
    var (token, byte) = (0, 0)
    // Where to continue when the part after the last `%` does not match; only that `%` needs it.
    var (retryToken, retryByte) = (-1, 0)
    while true {
      if token < tokens.count, case .anyText = tokens[token] {
        token &+= 1
        (retryToken, retryByte) = (token, byte)
        continue
      }
      if byte == text.count, token == tokens.count { return true }
      if byte < text.count, token < tokens.count {
        switch tokens[token] {
        case .byte(let wanted) where text[byte] == wanted:
          token &+= 1
          byte &+= 1
          continue
        case .anyScalar:
          token &+= 1
          byte = end(byte)
          continue
        default: break
        }
      }
      guard retryToken >= 0, retryByte < text.count else { return false }
      retryByte = Self.end(ofScalarAt: retryByte, text)
      (token, byte) = (retryToken, retryByte)
    }
  }

  /// The end of the scalar that begins at `start`.
  private static func end(ofScalarAt start: Int, _ text: UnsafeRawBufferPointer) -> Int {
    var end = start &+ 1
    while end < text.count, text[end] & 0xC0 == 0x80 { end &+= 1 }
    return end
  }
}
