import Base
import Engine

/// A run of whole records, as bytes.
///
/// Thread rule: passed from the splitter to one parser thread. The bytes never change; the scratch area
/// belongs to the chunk's parser. Its memory is reused when the chunk is released: pointers and spans into it
/// must not be kept longer.
package final class Chunk: @unchecked Sendable {
  // @unchecked: everything is constant except the scratch area and the memory itself, which have one user at
  // a time.

  /// 0 for the first chunk of an input.
  package let index: Int
  /// The offset of the first byte in the input.
  package let byteOffset: Int
  /// The number of the first record; a header is record 0.
  package let firstRecord: Int
  /// 1-based line of the first byte.
  package let firstLine: Int
  /// The number of records in the chunk. Blank lines do not count unless `blankLinesAreRecords`; 0 is
  /// possible for a chunk of blank lines only.
  package let recordCount: Int
  /// Line ends in the chunk, including those inside quotes.
  package let lineBreaks: Int
  /// True when the input ends with this chunk.
  package let isLast: Bool
  /// True when the last record ends with the input, without a record end.
  package let isUnfinished: Bool
  package let blankLinesAreRecords: Bool
  /// The input's encoding; the chunk itself is UTF-8.
  package let encoding: TextEncoding
  /// The original bytes; nil when the encoding determines them.
  let original: OriginalText?
  /// The number of the input's bytes that the chunk represents.
  package let inputByteCount: Int
  /// The checksum of the input before the chunk; it can be continued.
  package let checksumBefore: RunningChecksum
  /// The checksum of the input up to the end of the chunk.
  package let checksumAfter: UInt64

  /// The chunk's bytes, and the scratch area at `scratchOffset`. Raw, because parser threads read 64 bytes at
  /// a time; both are `byteCount` long.
  ///
  /// Unchecked: they change once, when the parser has finished with the chunk.
  @exclusivity(unchecked) private(set) var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private(set) var scratchOffset: Int
  /// The number of bytes to which spans may point.
  @exclusivity(unchecked) private var memoryCount: Int
  /// The chunk's own memory.
  @exclusivity(unchecked) private var annex: UnsafeMutableRawPointer?
  package let byteCount: Int
  private let owner: ChunkMemory

  init(
    _ owner: ChunkMemory, start: Int, byteCount: Int, summary: Summary
  ) {
    self.owner = owner
    memory = owner.base + start
    scratchOffset = owner.capacity
    memoryCount = owner.capacity + byteCount
    self.byteCount = byteCount
    index = summary.index
    byteOffset = summary.byteOffset
    firstRecord = summary.firstRecord
    firstLine = summary.firstLine
    recordCount = summary.recordCount
    lineBreaks = summary.lineBreaks
    isLast = summary.isLast
    isUnfinished = summary.isUnfinished
    blankLinesAreRecords = summary.blankLinesAreRecords
    encoding = summary.encoding
    original = summary.original
    inputByteCount = summary.inputByteCount
    checksumBefore = summary.checksumBefore
    checksumAfter = summary.checksumAfter
  }

  deinit { annex?.deallocate() }

  /// What the splitter knows about a chunk, apart from its bytes.
  struct Summary {
    let index: Int
    let byteOffset: Int
    let firstRecord: Int
    let firstLine: Int
    let recordCount: Int
    let lineBreaks: Int
    let isLast: Bool
    let isUnfinished: Bool
    let blankLinesAreRecords: Bool
    let encoding: TextEncoding
    let original: OriginalText?
    let inputByteCount: Int
    let checksumBefore: RunningChecksum
    let checksumAfter: UInt64
  }

  /// Calls `body` with the chunk's input bytes, valid until it returns.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: byteCount))
  }

  /// Calls `body` with everything to which spans of this chunk may point: the input, and the scratch area far
  /// after it. Valid until it returns.
  package func withMemory<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: memoryCount))
  }

  /// Moves the input and the unescaped fields to memory of the chunk's own, with space after them.
  ///
  /// Only the chunk's parser calls it, after parsing: pointers into the chunk become invalid, and so do spans
  /// that are not passed.
  ///
  /// - Parameters:
  ///   - count: the bytes of the space.
  ///   - spans: the chunk's fields, which are changed to point to the same bytes.
  /// - Returns: the offset of the space.
  func makeRoom(_ count: Int, keeping spans: inout [TextSpan]) -> Int {
    let scratchEnd = spans.reduce(scratchOffset) { end, span in
      span.isNull ? end : max(end, Int(span.offset) + Int(span.length))
    }
    let scratch = max(0, scratchEnd - scratchOffset)
    let place = UnsafeMutableRawPointer.allocate(
      byteCount: byteCount + scratch + count, alignment: 64)
    place.copyMemory(from: memory, byteCount: byteCount)
    (place + byteCount).copyMemory(from: memory + scratchOffset, byteCount: scratch)
    for index in spans.indices where !spans[index].isNull {
      let offset = Int(spans[index].offset)
      guard offset >= scratchOffset else { continue }
      spans[index] = TextSpan(
        offset: UInt32(clamping: offset - scratchOffset + byteCount), length: spans[index].length)
    }
    annex?.deallocate()
    (annex, memory) = (place, place)
    scratchOffset = byteCount
    memoryCount = byteCount + scratch + count
    return byteCount + scratch
  }

  /// Writes into the space from `makeRoom`, and nothing beyond it.
  func write(_ bytes: [UInt8], at offset: Int) {
    guard annex != nil, offset >= byteCount, offset + bytes.count <= memoryCount else { return }
    bytes.withUnsafeBytes { source in
      if let base = source.baseAddress {
        (memory + offset).copyMemory(from: base, byteCount: source.count)
      }
    }
  }

  /// The number of the input's bytes for the chunk's bytes from `start` to `end`, which must be whole
  /// characters.
  ///
  /// - Complexity: O(1) for UTF-8, otherwise O(bytes).
  package func inputLength(from start: Int, to end: Int) -> Int {
    if encoding.form == .utf8 { return end - start }
    guard start >= 0, start <= end, end <= byteCount else { return 0 }
    if let original { return original.offset(end) - original.offset(start) }
    return Transcoder.inputLength(
      UnsafeRawBufferPointer(start: memory + start, count: end - start), encoding)
  }

  /// The offset in the input of a byte of the chunk that begins a character.
  package func inputOffset(_ position: Int) -> Int {
    byteOffset &+ inputLength(from: 0, to: position)
  }

  /// The input's bytes for the chunk's bytes from `start` to `end`, which must be whole characters; empty
  /// when the range is not in the chunk.
  package func original(from start: Int, to end: Int) -> [UInt8] {
    original?.bytes(from: start, to: end)
      ?? Transcoder.input(copy(from: start, to: end), encoding)
  }

  /// The chunk's bytes from `start` to `end`, copied; empty when the range is not in the chunk.
  package func copy(from start: Int, to end: Int) -> [UInt8] {
    guard start >= 0, start <= end, end <= byteCount else { return [] }
    return withBytes { Array($0[start..<end]) }
  }
}
