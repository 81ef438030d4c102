import Base
import Testing

/// A path that is not UTF-8 can be written as text and read back, byte by byte.
@Suite struct PathTextTests {
  @Test("Any bytes of a path come back from its text, and are shown escaped")
  func pathsComeBack() {
    for bytes: [UInt8] in [
      [], [0x61], [0xE9], [0xC3, 0xA9], [0xF4, 0x8F, 0xBF, 0xA9], [0xF4, 0x8F, 0xBF],
      [0xFF, 0x61, 0xFE],
      [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98, 0x80, 0x80], [0xE2, 0x82],
    ] {
      let text = PathText.text(bytes)
      #expect(PathText.bytes(text) == bytes, "\(bytes)")
      #expect(
        PathText.hasBytes(text)
          == (String(validating: bytes, as: UTF8.self) == nil
            || bytes.count == 4 && bytes[0] == 0xF4))
    }
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<10_000).map { _ in UInt8.random(in: 1...255, using: &random) }
    #expect(PathText.bytes(PathText.text(bytes)) == bytes, "\(bytes)")
    #expect(PathText.shown(PathText.text([0x63, 0xE9, 0x2E])) == "c\\xE9.")
  }
}
