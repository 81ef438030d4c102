import Testing

@testable import Base

/// What the system's iconv says of bytes.
@Suite struct CharacterConverterTests {
  @Test("Bytes mean a text, its beginning or nothing, whatever was asked before")
  func meanings() throws {
    let converter = try #require(CharacterConverter("GB18030"))
    #expect(converter.meaning(of: []) == .text([]))
    #expect(converter.meaning(of: [0x61]) == .text([0x61]))
    #expect(converter.meaning(of: [0xB0]) == .beginning)
    #expect(converter.meaning(of: [0xB0, 0xA1]) == .text(Array("啊".utf8)))
    #expect(converter.meaning(of: [0x94, 0x39, 0xDA]) == .beginning)
    #expect(converter.meaning(of: [0x94, 0x39, 0xDA, 0x33]) == .text(Array("💩".utf8)))
    #expect(converter.meaning(of: [0xFF]) == .none)
    // Each answer is independent of the question before it.
    #expect(converter.meaning(of: [0x61, 0xB0]) == .beginning)
    #expect(converter.meaning(of: [0xB0, 0xA1, 0x0A]) == .text(Array("啊\n".utf8)))
    let many: [UInt8] = [0xB0, 0xA1]
    let text = Array(repeatElement(many, count: 50_000).joined())
    #expect(
      converter.meaning(of: text) == .text(Array(String(repeating: "啊", count: 50_000).utf8)))
  }

  @Test(
    "A name that the system does not know gives no converter",
    arguments: [
      "", "nonsense", "UTF-8//TRANSLIT", "a,b", "a\0b", String(repeating: "a", count: 999),
    ])
  func unknown(name: String) {
    #expect(CharacterConverter(name) == nil)
  }
}
