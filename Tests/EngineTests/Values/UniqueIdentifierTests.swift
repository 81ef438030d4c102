import TestSupport
import Testing

@testable import Engine

/// UUIDs, read eight digits at a time, compared with a reader of one byte at a time.
@Suite struct UniqueIdentifierTests {
  private static func slowly(_ text: [UInt8]) -> UInt128? {
    var bytes = text
    let prefix = Array("urn:uuid:".utf8)
    if bytes.count == 45, Array(bytes.prefix(9)) == prefix {
      bytes.removeFirst(9)
    } else if bytes.count == 38 || bytes.count == 34, bytes.first == UInt8(ascii: "{"),
      bytes.last == UInt8(ascii: "}")
    {
      bytes = Array(bytes.dropFirst().dropLast())
    }
    if bytes.count == 36 {
      for place in [23, 18, 13, 8] {
        guard bytes.remove(at: place) == UInt8(ascii: "-") else { return nil }
      }
    }
    guard bytes.count == 32 else { return nil }
    var bits: UInt128 = 0
    for byte in bytes {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        return nil
      }
      bits = bits << 4 | UInt128(digit)
    }
    return bits
  }

  private static func expectEqual(_ text: [UInt8]) {
    let found = text.withUnsafeBytes { UniqueIdentifier.parse(SpellingView($0)) }
    #expect(
      text.withUnsafeBytes { UniqueIdentifier.isSpelled(SpellingView($0)) } == (found != nil))
    #expect(found?.bits == slowly(text), "\(String(decoding: text, as: UTF8.self))")
    let reads = text.withUnsafeBytes { Reading.uuid.reads($0) }
    let value = Value(spelling: text, type: .uuid)
    #expect(reads == (value != nil), "\(String(decoding: text, as: UTF8.self))")
  }

  /// All spellings of an identifier.
  private static func forms(_ bits: UInt128) -> [[UInt8]] {
    let plain = UniqueIdentifier(bits: bits).spelling
    let bare = plain.filter { $0 != UInt8(ascii: "-") }
    let upper = Array(String(decoding: plain, as: UTF8.self).uppercased().utf8)
    let braces = { (text: [UInt8]) in [UInt8(ascii: "{")] + text + [UInt8(ascii: "}")] }
    return [
      plain, bare, upper, braces(plain), braces(bare), Array("urn:uuid:".utf8) + upper,
      Array("urn:uuid:".utf8) + bare,
    ]
  }

  /// The bytes next to those of digits, and the same with the highest bit set.
  private static let strange: [UInt8] = [
    0x00, 0x01, 0x10, 0x2D, 0x2F, 0x30, 0x39, 0x3A, 0x40, 0x41, 0x46, 0x47, 0x60, 0x61, 0x66, 0x67,
    0x7F, 0x80, 0xAD, 0xB0, 0xB9, 0xC1, 0xC6, 0xE1, 0xE6, 0xFF,
  ]

  @Test("Every form, with other bytes at every place of two, and with a place left out or doubled")
  func places() {
    var random = SplitMix64(seed: 1)
    let bits = UInt128.random(in: .min ... .max, using: &random)
    for form in Self.forms(bits) { Self.expectEqual(form) }
    for form in Self.forms(bits).prefix(2) {
      for place in form.indices {
        for byte in place % 9 == 0 ? Array(UInt8.min ... .max) : Self.strange {
          var text = form
          text[place] = byte
          Self.expectEqual(text)
        }
        var text = form
        text.remove(at: place)
        Self.expectEqual(text)
        text = form
        text.insert(form[place], at: place)
        Self.expectEqual(text)
      }
    }
  }

  @Test("Random identifiers, with a few bytes changed")
  func random() {
    var random = SplitMix64(seed: 2)
    for _ in 0..<200 {
      let bits = UInt128.random(in: .min ... .max, using: &random)
      for form in Self.forms(bits) {
        Self.expectEqual(form)
        var text = form
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let place = Int.random(in: text.indices, using: &random)
          text[place] = form[Int.random(in: form.indices, using: &random)]
        }
        Self.expectEqual(text)
      }
    }
  }

  @Test("Every byte has the digit that it stands for", arguments: [0, 7, 9, 17, 19, 27, 28, 35])
  func digits(place: Int) throws {
    var text = UniqueIdentifier(bits: 0).spelling
    for (digit, byte) in "0123456789abcdef".utf8.enumerated() {
      text[place] = byte
      let found = try #require(text.withUnsafeBytes { UniqueIdentifier.parse(SpellingView($0)) })
      let before = [8, 13, 18, 23].count { $0 < place }
      #expect(found.bits == UInt128(digit) << UInt128(4 * (31 - (place - before))))
    }
  }

  @Test("A reading takes what has a value, and nothing else")
  func readings() {
    for text in [
      "", " ", "12", "-1.50", " 7 ", "1e3", "x", "NaN", "2018-01-07", "true", "12:30", "0007",
      "99999999999999999999999999999999999999", "999999999999999999999999999999999999999",
      "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", " f81d4fae-7dec-11d0-a765-00a0c91e6bf6\t",
    ] {
      for type in ColumnType.allCases {
        let bytes = Array(text.utf8)
        let reads = bytes.withUnsafeBytes { Reading(type).reads($0) }
        #expect(reads == (Value(spelling: bytes, type: type) != nil), "\(text) as \(type)")
      }
    }
  }
}
