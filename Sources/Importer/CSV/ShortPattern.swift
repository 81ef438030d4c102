/// One to eight bytes with a meaning: a delimiter, or the beginning of a comment.
///
/// A word instead of an array: dialects are copied into the scanners of every chunk.
package struct ShortPattern: Sendable, Equatable {
  package let count: Int
  /// The first byte lowest.
  private let word: UInt64

  /// Nil when there are no bytes, or more than eight.
  package init?(_ bytes: some Collection<UInt8>) {
    guard !bytes.isEmpty, bytes.count <= 8 else { return nil }
    count = bytes.count
    word = bytes.reversed().reduce(0) { ($0 << 8) | UInt64($1) }
  }

  package init(_ byte: UInt8) {
    count = 1
    word = UInt64(byte)
  }

  package var first: UInt8 { UInt8(truncatingIfNeeded: word) }
  package var bytes: [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  /// The bytes as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package func contains(_ byte: UInt8) -> Bool { bytes.contains(byte) }

  enum Match {
    case no
    /// All available bytes match, but there are too few.
    case partly
    case yes
  }

  /// Whether the pattern is at `position` of `count` readable bytes.
  @inline(__always)
  func match(_ bytes: UnsafeRawPointer, at position: Int, count available: Int) -> Match {
    var rest = word
    var index = position
    let end = position &+ count
    while index < end {
      if index >= available { return .partly }
      if bytes.load(fromByteOffset: index, as: UInt8.self) != UInt8(truncatingIfNeeded: rest) {
        return .no
      }
      rest >>= 8
      index &+= 1
    }
    return .yes
  }
}
