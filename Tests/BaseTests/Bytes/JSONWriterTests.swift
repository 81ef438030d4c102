import Base
import Testing

/// JSON as `JSONWriter` writes it.
@Suite struct JSONWriterTests {
  @Test("A writer that was emptied can be used again")
  func aWriterCanBeUsedAgain() {
    var writer = JSONWriter()
    for _ in 0..<2 {
      writer.removeAll()
      writer.beginObject()
      writer.key("a")
      writer.string(utf8: Array("x".utf8))
      writer.key("b")
      writer.bool(false)
      writer.end()
      #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\"a\":\"x\",\"b\":false}")
    }
    writer.end()
  }
}
