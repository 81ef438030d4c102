import Engine
import TestSupport
import Testing

@testable import Importer

/// The bytes sent for a field.
@Suite struct CopyTextTests {
  private static func sent(_ field: String, _ reading: Reading) -> String? {
    let text = CopyText(capacity: 1)
    let problem = Array(field.utf8).withUnsafeBytes {
      CopyField(reading: reading).write($0, to: text)
    }
    return problem == nil ? String(decoding: text.bytes, as: UTF8.self) : nil
  }

  private static func problem(_ field: [UInt8], _ reading: Reading) -> CopyField.Problem? {
    let text = CopyText()
    return field.withUnsafeBytes { CopyField(reading: reading).write($0, to: text) }
  }

  @Test(
    "What means something in COPY is escaped, and nothing else",
    arguments: [
      ("plain", "plain"), ("", ""), ("a\tb", "a\\tb"), ("a\nb", "a\\nb"), ("a\r\nb", "a\\r\\nb"),
      ("\\", "\\\\"), ("\\N", "\\\\N"), ("\\.", "\\\\."),
      ("\u{B}\u{C}\u{8}\u{7F}", "\u{B}\u{C}\u{8}\u{7F}"),
      ("é\"',;", "é\"',;"),
    ])
  func escaping(_ field: String, _ expected: String) {
    #expect(Self.sent(field, .text) == expected)
  }

  @Test("A text of any bytes comes back to the letter")
  func everyByte() {
    let text = CopyText(capacity: 1)
    let bytes: [UInt8] = (UInt8(1)...255).flatMap { (byte: UInt8) -> [UInt8] in [byte, 0x5C, byte] }
    #expect(bytes.withUnsafeBytes { text.writeEscaped($0) })
    var back: [UInt8] = []
    var index = 0
    let sent = text.bytes
    while index < sent.count {
      // Unescapes as the server does.
      guard sent[index] == 0x5C else {
        #expect(sent[index] != 0x09 && sent[index] != 0x0A && sent[index] != 0x0D)
        back.append(sent[index])
        index += 1
        continue
      }
      let meaning: [UInt8: UInt8] = [0x74: 0x09, 0x6E: 0x0A, 0x72: 0x0D, 0x5C: 0x5C]
      back.append(meaning[sent[index + 1]] ?? 0)
      index += 2
    }
    #expect(back == bytes)
  }

  /// Escapes byte by byte.
  private static func escaped(_ bytes: [UInt8]) -> [UInt8]? {
    let meanings: [UInt8: [UInt8]] = [
      0x09: Array("\\t".utf8), 0x0A: Array("\\n".utf8), 0x0D: Array("\\r".utf8),
      0x5C: Array("\\\\".utf8),
    ]
    return bytes.contains(0) ? nil : bytes.flatMap { meanings[$0] ?? [$0] }
  }

  @Test("What means something is escaped wherever it stands in texts of any length")
  func everyPlace() {
    let text = CopyText(capacity: 1)
    let signs: [UInt8] = [
      0, 0x01, 0x08, 0x09, 0x0A, 0x0D, 0x0E, 0x5B, 0x5C, 0x5D, 0x80, 0x8E, 0xDC, 0xFF,
    ]
    for count in 0...25 {
      for place in 0..<max(1, count) {
        for sign in signs {
          var bytes = (0..<count).map { UInt8(0x61 + $0 % 26) }
          if count > 0 { bytes[place] = sign }
          if place > 0, place % 3 == 0 { bytes[place - 1] = 0x5C }
          text.removeAll()
          _ = text.writeEscaped(UnsafeRawBufferPointer(start: nil, count: 0))
          let isWhole = bytes.withUnsafeBytes { text.writeEscaped($0) }
          let expected = Self.escaped(bytes)
          #expect(isWhole == (expected != nil))
          if let expected { #expect(text.bytes == expected, "\(bytes)") }
        }
      }
    }
  }

  @Test("A number that is sent as it is spelled would be sent so anyway")
  func plainNumbers() {
    for plain in ["0", "0.5", "7", "4.1", "-3.25", "123456789012345", "10.0"] {
      #expect(Array(plain.utf8).withUnsafeBytes { CopyField.isPlainNumber($0) }, "\(plain)")
    }
    let signs = Array("0012.-e+ ".utf8)
    var random = SplitMix64(seed: 3)
    for _ in 0..<5000 {
      let count = Int.random(in: 0...6, using: &random)
      let field = (0..<count).map { _ in signs.randomElement(using: &random) ?? 0x30 }
      guard field.withUnsafeBytes({ CopyField.isPlainNumber($0) }) else { continue }
      let spelling = String(decoding: field, as: UTF8.self)
      #expect(Self.sent(spelling, .double) == spelling)
    }
  }

  @Test("A text with a NUL is refused")
  func nul() {
    #expect(Self.problem([0x61, 0, 0x62], .text) == .nul)
  }

  @Test(
    "Integers are sent by what they mean",
    arguments: [
      ("5", "5"), ("0", "0"), ("-5", "-5"), ("+5", "5"), (" 7 ", "7"),
      ("123456789012345678", "123456789012345678"),
      ("9223372036854775807", "9223372036854775807"),
      ("-9223372036854775808", "-9223372036854775808"),
    ])
  func integers(_ field: String, _ expected: String) { #expect(Self.sent(field, .int) == expected) }

  @Test(
    "What is no integer is not sent as one",
    arguments: [
      "", "-", "+", "007", "-0", "1.0", "1e3", "9223372036854775808", "1 2", "a", "１",
    ])
  func noIntegers(_ field: String) {
    #expect(Self.problem(Array(field.utf8), .int) == .misfit)
  }

  @Test("Numbers keep all of their digits, whatever they are spelled like")
  func numbers() throws {
    let long = "1234567890123456789.012345678901234567890"
    #expect(Self.sent(long, .double) == long)
    #expect(Self.sent(" 1.5 ", .double) == "1.5")
    #expect(Self.sent("NaN", .double) == "NaN")
    #expect(Self.sent("1,5", .double) == nil)
    let european = Reading(.double, try Notation(.double, ["1.234,5"]))
    #expect(
      Self.sent("1.234.567,890123456789012345678", european) == "1234567.890123456789012345678")
    #expect(Self.sent("abc", european) == nil)
  }

  @Test("Days and moments are in ISO 8601, moments in UTC; the year 0 is refused")
  func dates() throws {
    let written = Reading(.date, try Notation(.date, ["%B %d, %Y"]))
    #expect(Self.sent("August 3, 2018", written) == "2018-08-03")
    #expect(Self.sent("2018-08-03", .date) == "2018-08-03")
    #expect(Self.sent("2018-08-03T12:00:00+02:00", .dateTime) == "2018-08-03T10:00:00Z")
    #expect(Self.sent("2018-08-03 12:00:00.25", .dateTime) == "2018-08-03T12:00:00.250000Z")
    #expect(Self.sent("0001-01-01", .date) == "0001-01-01")
    #expect(Self.problem(Array("0000-12-31".utf8), .date) == .yearZero)
    #expect(Self.problem(Array("0001-01-01T00:30+01:00".utf8), .dateTime) == .yearZero)
    #expect(Self.sent("9:05", .time) == nil)
    #expect(Self.sent("09:05", .time) == "09:05:00")
  }

  @Test(
    "What was sent for a spelling is sent for it again, and for no other",
    arguments: [1, 40, 100_000])
  func repeated(columns: Int) throws {
    let field = CopyField(reading: Reading(.date, try Notation(.date, ["%B %d, %Y"])))
    let known = SentSpellings(columns: columns)
    for round in 0..<2 {
      for day in 0..<6000 {
        let date = try #require(CalendarDate(daysSince1970: day))
        let months = ["January", "February", "March", "April", "May", "June", "July", "August"]
        guard date.month <= months.count else { continue }
        let spelling = Array("\(months[date.month - 1]) \(date.day), \(date.year)".utf8)
        let text = CopyText()
        spelling.withUnsafeBytes { bytes in
          if known.write(bytes, to: text) { return }
          #expect(field.write(bytes, to: text) == nil)
          known.note(bytes, text, from: 0)
        }
        if text.bytes != Array(date.description.utf8) {
          Issue.record("\(round) \(date): \(String(decoding: text.bytes, as: UTF8.self))")
        }
      }
    }
    // Neither an empty field nor a long one is remembered.
    for bytes in [[], [UInt8](repeating: 0x41, count: 31)] {
      let text = CopyText()
      bytes.withUnsafeBytes { known.note($0, text, from: 0) }
      #expect(bytes.withUnsafeBytes { !known.write($0, to: text) })
    }
  }

  @Test("Bools are t and f")
  func bools() throws {
    #expect(Self.sent("TRUE", .bool) == "t")
    #expect(Self.sent("false", .bool) == "f")
    #expect(Self.sent("yes", .bool) == nil)
  }
}
