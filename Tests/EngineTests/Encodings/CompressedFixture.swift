import Testing

@testable import Engine

/// What compression makes of strings, with the bytes that may be read behind it.
func compressed(_ strings: [[UInt8]]) throws -> [UInt8] {
  let arena = strings.flatMap { $0 }
  var offset: UInt32 = 0
  let spans = strings.map { string -> TextSpan in
    defer { offset += UInt32(string.count) }
    return TextSpan(offset: offset, length: UInt32(string.count))
  }
  let guarded = try GuardedBytes(arena)
  defer { withExtendedLifetime(guarded) {} }
  var output = OutputBuffer()
  try spans.withUnsafeBufferPointer { spans in
    var room = Scratch<TextSpan>()
    let gathered = try GatheredColumn(
      arena: guarded.readOnly, matrix: spans.baseAddress.unsafelyUnwrapped, column: 0, stride: 1,
      rowCount: strings.count, scratch: room.reserve(strings.count))
    var compressed = CompressedStrings()
    let isSmaller = compressed.compress(
      gathered, gathered.lengths, effort: .thorough, mostExceptions: 0,
      span: { gathered.spans[$0] })
    try #require(isSmaller)
    compressed.write(into: &output)
    #expect(output.count == compressed.size)
  }
  return Array(output.bytes) + [0, 0, 0, 0, 0, 0, 0, 0]
}
