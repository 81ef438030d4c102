import Base

/// The meanings of an encoding's codes, as far as they have occurred: a tree of tables with an entry for each
/// byte. `iconv` fills a table when it is first needed.
///
/// The codes of one byte are present from the beginning, so the tables of single-byte encodings are complete;
/// those of others get one more table, with 256 calls, for each first byte that occurs.
///
/// Thread rule: a value. One thread extends it; others can read copies, which have all codes that had
/// occurred before the copy.
struct CodeTable: @unchecked Sendable {
  // @unchecked: only because of `converter`; only `grow` uses it, on the one decoding thread.

  /// The code at a place in the bytes.
  struct Code {
    /// The number of input bytes; 0: more bytes are needed.
    var length: Int
    /// A character, or a number with one of the marks below.
    var entry: UInt32
  }

  /// The byte does not belong to a code.
  static let none: UInt32 = 0xFFFF_FFFF
  /// The byte begins a longer code, whose continuations were not looked up.
  static let unasked: UInt32 = 0xFFFF_FFFE
  /// The rest of the entry is the number of the table for the next byte.
  private static let table: UInt32 = 0x8000_0000
  /// The rest of the entry is the number of a text of several characters.
  private static let text: UInt32 = 0x4000_0000
  /// No encoding has longer codes.
  private static let longest = 8

  private var entries: [UInt32] = []
  private var texts: [[UInt8]] = []
  private let converter: CharacterConverter

  init(_ converter: CharacterConverter) {
    self.converter = converter
    append(after: [])
  }

  private mutating func append(after prefix: [UInt8]) {
    for byte in 0...0xFF as ClosedRange<UInt8> {
      entries.append(entry(converter.meaning(of: prefix + [byte]), length: prefix.count + 1))
    }
  }

  private mutating func entry(_ meaning: CharacterConverter.Meaning, length: Int) -> UInt32 {
    switch meaning {
    case .beginning: return length < Self.longest ? Self.unasked : Self.none
    case .none: return Self.none
    case .text(let bytes):
      // UTF-8 is strict about what a character is; the output of `iconv` might not be.
      guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
        return Self.none
      }
      let scalars = text.unicodeScalars
      if scalars.count == 1, let only = scalars.first { return only.value }
      texts.append(bytes)
      return Self.text | UInt32(truncatingIfNeeded: texts.count - 1)
    }
  }

  /// The code at an index.
  ///
  /// A byte that begins no code is a code of its own, without meaning, so that an ASCII character after it
  /// keeps its meaning.
  @inline(__always)
  func code(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Code {
    var node = 0
    var next = position
    while next < bytes.count {
      let entry = entries[node << 8 | Int(bytes[next])]
      next += 1
      if entry < Self.table { return Code(length: next - position, entry: entry) }
      if entry == Self.none { return Code(length: 1, entry: Self.none) }
      if entry == Self.unasked { return Code(length: next - position, entry: entry) }
      node = Int(entry & ~Self.table)
    }
    return Code(length: 0, entry: Self.none)
  }

  /// Looks up the codes that begin with these bytes, which `code` did not know.
  mutating func grow(_ prefix: [UInt8]) {
    var place = 0
    for (index, byte) in prefix.enumerated() {
      let slot = place << 8 | Int(byte)
      let entry = entries[slot]
      if entry == Self.unasked, index == prefix.count - 1 {
        entries[slot] = Self.table | UInt32(truncatingIfNeeded: entries.count >> 8)
        append(after: prefix)
        return
      }
      guard entry >= Self.table, entry < Self.unasked else { return }
      place = Int(entry & ~Self.table)
    }
  }

  /// The number of UTF-8 bytes of an entry.
  @inline(__always)
  func textLength(_ entry: UInt32) -> Int {
    if entry < 0x80 { return 1 }
    if entry < 0x800 { return 2 }
    if entry < 0x10000 { return 3 }
    if entry < Self.text { return 4 }
    return entry < Self.table ? texts[Int(entry & ~Self.text)].count : 3
  }

  /// Appends a code in UTF-8; a byte without meaning becomes 0xFE and its two halves, which is not UTF-8
  /// whatever surrounds it.
  @inline(__always)
  func append(_ entry: UInt32, byte: UInt8, to output: inout [UInt8]) {
    if entry < Self.text {
      Transcoder.append(entry, to: &output)
    } else if entry < Self.table {
      output += texts[Int(entry & ~Self.text)]
    } else {
      output.append(0xFE)
      output.append(0x80 | (byte >> 4))
      output.append(0x80 | (byte & 0x0F))
    }
  }
}
