import Base
import Engine

/// Cuts an input into chunks of whole records.
///
/// Record ends are `\n`, `\r\n` and `\r`, in any mixture, outside quotes. A quote opens a quoted field only
/// at the start of a field, or after blanks there. The last record needs no record end. A byte-order mark at
/// the start of the input is skipped: the first chunk's `byteOffset` is then 3, or 2 for UTF-16. Blank lines
/// are skipped unless `blankLinesAreRecords`, and so are comments.
///
/// In the input, the chunks lie back to back and cover everything except skipped lines. Memory is bounded by
/// the chunks that are held, `chunkBytes`, and `maximumRecordBytes`.
///
/// Thread rule: one thread at a time; the thread that reads the header may pass it to the one that reads the
/// rest.
package final class RecordSplitter: @unchecked Sendable {
  // @unchecked: a reader's private state, which is passed on but never shared.

  /// May be changed before the first chunk, and between chunks.
  package var dialect: Dialect
  /// Whether a blank line is a record (of one null), as in a table of one column. May be changed between
  /// chunks.
  package var blankLinesAreRecords = false
  /// Number of the next record. May be changed between chunks: to 1 when there is no header.
  package var nextRecord: Int
  /// The beginning of the next chunk. A byte-order mark counts only after the input was read.
  package private(set) var byteOffset: Int
  package private(set) var line: Int
  /// The checksum of all bytes of the input before `byteOffset`, including a byte-order mark, when the
  /// splitter began at the input's start.
  package private(set) var checksum = RunningChecksum()

  private let source: any ByteSource
  let encoding: TextEncoding
  /// The original bytes; nil when the encoding determines them.
  private let original: SystemText?
  private let limits: ChunkLimits
  private let pool = ChunkMemoryPool.shared()
  private var memory: ChunkMemory?
  /// The bytes read are `start..<filled` of the memory; the next chunk begins at `start`.
  private var start = 0
  private var filled = 0
  /// How much of the memory this splitter may fill; pieces that are being read ahead come after it.
  private var fillable = 0
  private var ahead: ReadAhead?
  /// The known scan results for the bytes after this place in the memory.
  private var known: (place: Int, facts: PieceFacts)?
  private var atEnd = false
  private var begun = false
  private var nextIndex = 0
  private var lastChunkBytes = 0

  /// - Parameters:
  ///   - source: the input as UTF-8.
  ///   - encoding: the original encoding; all offsets are relative to the original input.
  package convenience init(
    source: any ByteSource, dialect: Dialect = .rfc4180, limits: ChunkLimits = ChunkLimits(),
    start: Start = Start(), encoding: TextEncoding = .utf8
  ) {
    self.init(
      source: source, dialect: dialect, limits: limits, start: start, encoding: encoding,
      original: nil)
  }

  /// - Parameter original: the original bytes of `source`, from its first byte on.
  init(
    source: any ByteSource, dialect: Dialect = .rfc4180, limits: ChunkLimits = ChunkLimits(),
    start: Start = Start(), encoding: TextEncoding, original: SystemText?
  ) {
    self.source = source
    self.encoding = encoding
    self.original = original
    self.dialect = dialect
    self.limits = limits
    nextRecord = start.record
    byteOffset = start.byteOffset
    line = start.line
  }

  /// The maximum number of records for a chunk, so that the spans of its fields take at most some tens of
  /// megabytes even when short records are padded to many columns.
  package static func maximumRecords(columnCount: Int) -> Int {
    max(1, (4 << 20) / (max(1, columnCount) + 4))
  }

  /// The next chunk; nil at the end of the input.
  ///
  /// It ends after `recordLimit` records, or with the record in which it reaches `chunkBytes`, whichever
  /// comes first.
  ///
  /// - Throws: the errors of reading; `ImportError.recordTooLong`, once the records before the long one have
  ///   been returned; `ImportError.outOfMemory`; `ImportError.notSeekable`.
  /// - Complexity: O(bytes of the chunk).
  package func next(recordLimit: Int) throws(ImportError) -> Chunk? {
    try begin()
    while filled == start && !atEnd { try fill() }
    guard filled > start else { return nil }
    var scan = RecordScan(
      dialect: dialect, recordLimit: recordLimit, byteLimit: limits.chunkBytes,
      maximumRecordBytes: limits.maximumRecordBytes, blankLinesAreRecords: blankLinesAreRecords)
    while true {
      guard let base = memory?.base else { return nil }
      switch advance(&scan, base + start) {
      case .cut(let end):
        return try chunk(end, records: scan.records, lineBreaks: scan.lineBreaks)
      case .recordTooLong:
        guard scan.recordStart > 0 else { throw tooLong(scan) }
        let lineBreaks = lineBreaks(base + start, count: scan.recordStart)
        return try chunk(scan.recordStart, records: scan.records, lineBreaks: lineBreaks)
      case .needsMore:
        if !atEnd {
          try fill()
          continue
        }
        let isUnfinished = scan.isInRecord(base + start, count: filled - start)
        return try chunk(
          filled - start, records: scan.records + (isUnfinished ? 1 : 0),
          lineBreaks: scan.lineBreaks, isUnfinished: isUnfinished)
      }
    }
  }

  private func advance(_ scan: inout RecordScan, _ bytes: UnsafeRawPointer) -> RecordScan.Outcome {
    guard let known else { return scan.advance(bytes, count: filled - start, atEnd: atEnd) }
    return scan.advance(
      bytes, count: filled - start, atEnd: atEnd, leaping: known.facts, from: known.place - start)
  }

  /// Copies up to `count` of the bytes of the next chunks, without taking them: enough to find the dialect
  /// and the header of a pipe. Fewer only at the end of the input.
  ///
  /// - Throws: the errors of reading.
  package func peek(_ count: Int) throws(ImportError) -> [UInt8] {
    try begin()
    while filled - start < count && !atEnd { try fill() }
    guard let memory else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: memory.base + start, count: min(count, filled - start)))
  }

  /// The original bytes of the text from `peek`, for another splitter; nil when the encoding determines them.
  func peekOriginal() -> SystemText? { original.map { SystemText(copying: $0) } }

  /// Skips the next `count` lines, whatever they contain; fewer only at the end of the input. Chunks then
  /// begin after them.
  ///
  /// - Throws: the errors of reading.
  package func skipLines(_ count: Int) throws(ImportError) {
    try begin()
    var left = count
    var previousIsReturn = false
    while left > 0 || previousIsReturn {
      if filled == start {
        if atEnd { return }
        try fill()
        continue
      }
      guard let memory else { return }
      var position = start
      while position < filled, left > 0 || previousIsReturn {
        let byte = memory.base.load(fromByteOffset: position, as: UInt8.self)
        let isSecond = byte == 0x0A && previousIsReturn
        previousIsReturn = false
        if left == 0, !isSecond { break }
        position += 1
        if isSecond { continue }
        if byte == 0x0D || byte == 0x0A {
          left -= 1
          line &+= 1
          previousIsReturn = byte == 0x0D
        }
      }
      checksum.update(UnsafeRawBufferPointer(start: memory.base + start, count: position - start))
      byteOffset &+= pass(memory.base + start, count: position - start)
      start = position
    }
  }

  // MARK: Resuming

  /// The result of `skip`.
  package enum Skipped: Sendable, Equatable {
    /// All bytes were present and equal.
    case done(endsLine: Bool)
    /// The input ended earlier.
    case tooShort
    /// The bytes were different.
    case different
  }

  /// Skips bytes that an earlier import has read, so that the next chunk begins after them.
  ///
  /// - Parameters:
  ///   - offset: the end of these bytes, at the beginning of a character; not before `byteOffset`.
  ///   - checksum: the checksum of the input's bytes before `offset`.
  ///   - isCancelled: called from time to time.
  /// - Throws: the errors of reading; `ImportError.interrupted`.
  /// - Complexity: O(bytes): all of them are read again.
  package func skip(
    to offset: Int, checksum wanted: UInt64, isCancelled: () -> Bool = { false }
  ) throws(ImportError) -> Skipped {
    try begin()
    guard offset >= byteOffset else { return .different }
    // The bytes end a line with a line feed, or with a carriage return that no line feed follows.
    var last: UInt8 = 0x0A
    while byteOffset < offset {
      if filled == start {
        if atEnd { return .tooShort }
        if isCancelled() { throw .interrupted }
        try fill()
        continue
      }
      guard let memory else { return .tooShort }
      let present = UnsafeRawBufferPointer(start: memory.base + start, count: filled - start)
      let (count, length) =
        original?.pass(upTo: present.count, inputLimit: offset - byteOffset)
        ?? Transcoder.prefix(of: present, inputLength: offset - byteOffset, encoding)
      guard count > 0 else {
        // A character that is incomplete, or that contains the offset.
        if atEnd || present.count > 8 { return .different }
        try fill()
        continue
      }
      let bytes = UnsafeRawBufferPointer(rebasing: present[..<count])
      checksum.update(bytes)
      last = bytes[count - 1]
      start += count
      byteOffset += length
    }
    guard checksum.value == wanted else { return .different }
    if last != 0x0D { return .done(endsLine: last == 0x0A) }
    return .done(endsLine: try peek(1).first != 0x0A)
  }

  /// Sets the line and record of the next chunk's beginning, after `skip`.
  package func goOn(line: Int, record: Int) {
    self.line = line
    nextRecord = record
  }

  /// Adds a condition for ending a wait for a pipe, with `ImportError.interrupted`.
  package func stopsWaiting(when condition: @escaping @Sendable () -> Bool) {
    let before = source.isCancelled
    source.isCancelled = { before() || condition() }
  }

  /// Returns whether no byte is left.
  ///
  /// - Throws: the errors of reading.
  package func isAtEnd() throws(ImportError) -> Bool {
    try begin()
    while filled == start && !atEnd { try fill() }
    return filled == start
  }

  // MARK: Cutting

  private func chunk(
    _ cut: Int, records: Int, lineBreaks: Int, isUnfinished: Bool = false
  ) throws(ImportError) -> Chunk? {
    var end = cut
    // One more byte is needed to know whether a line feed completes the record end, and whether this is the
    // last chunk.
    try fillBeyond(end)
    if endsBetweenReturnAndLineFeed(end) {
      end += 1
      try fillBeyond(end)
    }
    guard let memory else { return nil }
    let original = original?.take(end)
    let inputByteCount = original?.count ?? pass(memory.base + start, count: end)
    let before = checksum
    checksum.update(UnsafeRawBufferPointer(start: memory.base + start, count: end))
    let chunk = Chunk(
      memory, start: start, byteCount: end,
      summary: Chunk.Summary(
        index: nextIndex, byteOffset: byteOffset, firstRecord: nextRecord, firstLine: line,
        recordCount: records, lineBreaks: lineBreaks, isLast: atEnd && start + end == filled,
        isUnfinished: isUnfinished,
        blankLinesAreRecords: blankLinesAreRecords, encoding: encoding, original: original,
        inputByteCount: inputByteCount, checksumBefore: before, checksumAfter: checksum.value))
    start += end
    // The start from a damaged checkpoint may be any number.
    byteOffset &+= inputByteCount
    line &+= lineBreaks
    nextRecord &+= records
    nextIndex += 1
    lastChunkBytes = end
    return chunk
  }

  private func fillBeyond(_ end: Int) throws(ImportError) {
    while filled - start == end && !atEnd { try fill() }
  }

  private func endsBetweenReturnAndLineFeed(_ end: Int) -> Bool {
    guard let memory, end > 0, filled - start > end else { return false }
    let bytes = memory.base + start + end
    return bytes.load(fromByteOffset: -1, as: UInt8.self) == 0x0D
      && bytes.load(as: UInt8.self) == 0x0A
  }

  /// Takes the next bytes, and returns the number of the input's bytes that they represent.
  private func pass(_ bytes: UnsafeRawPointer, count: Int) -> Int {
    original?.pass(count)
      ?? Transcoder.inputLength(UnsafeRawBufferPointer(start: bytes, count: count), encoding)
  }

  private func tooLong(_ scan: RecordScan) -> ImportError {
    .recordTooLong(
      position: position, limit: limits.maximumRecordBytes, insideQuotes: scan.state == .quoted)
  }

  private var position: SourcePosition {
    SourcePosition(file: source.name, line: line, column: 1, byteOffset: byteOffset)
  }

  private func lineBreaks(_ bytes: UnsafeRawPointer, count: Int) -> Int {
    var found = 0
    var previous: UInt8 = 0
    for byte in UnsafeRawBufferPointer(start: bytes, count: count) {
      if byte == 0x0D || (byte == 0x0A && previous != 0x0D) { found += 1 }
      previous = byte
    }
    return found
  }

  // MARK: Reading ahead

  /// Starts reading the rest on several threads. The result has their number; each of them must call `serve`.
  /// Nil when that is impossible or not worth it. The dialect and the meaning of blank lines must then no
  /// longer change.
  ///
  /// - Throws: the errors of reading.
  func readAhead(threads: Int) throws(ImportError) -> ReadAhead? {
    try begin()
    let next = byteOffset + filled - start
    guard ahead == nil, encoding == .utf8, dialect.isPlain, let input = source.positioned,
      let size = source.size
    else { return nil }
    let threads = min(threads, (size - next) / (2 * limits.pieceBytes))
    if threads < 1 { return nil }
    ahead = ReadAhead(
      input, next..<size, threads: threads, dialect: dialect,
      blankLinesAreRecords: blankLinesAreRecords, limits: limits, pool: pool)
    return ahead
  }

  /// Ends reading ahead, at the end or before.
  func stopReadingAhead() {
    ahead?.stop()
    ahead = nil
  }

  /// Takes the next piece that was read ahead; returns false after the last, when reading continues without
  /// pieces.
  private func takePiece(_ ahead: ReadAhead) throws(ImportError) -> Bool {
    let piece: Piece?
    do {
      piece = try ahead.next(chunkBytes: lastChunkBytes)
    } catch {
      throw outOfMemory(limits.pieceBytes)
    }
    guard let piece else {
      stopReadingAhead()
      known = nil
      try source.seek(to: byteOffset + filled - start)
      return false
    }
    let held = filled - start
    let bytes = piece.memory.base + piece.place
    if piece.memory === memory, piece.place == filled {
      known = (filled, piece.facts)
    } else if let memory, held <= piece.headroom {
      (bytes - held).copyMemory(from: memory.base + start, byteCount: held)
      self.memory = piece.memory
      start = piece.place - held
      fillable = 0
      filled = piece.place
      known = (filled, piece.facts)
    } else {
      // For a chunk that is much longer than the last one.
      let memory = try roomyMemory(for: piece.byteCount)
      (memory.base + filled).copyMemory(from: bytes, byteCount: piece.byteCount)
      known = (filled, piece.facts)
    }
    filled += piece.byteCount
    return true
  }

  // MARK: Reading

  private func begin() throws(ImportError) {
    if begun { return }
    begun = true
    if byteOffset > 0 {
      try source.seek(to: byteOffset)
      return
    }
    if try peek(3) == [0xEF, 0xBB, 0xBF] {
      guard let memory else { return }
      checksum.update(UnsafeRawBufferPointer(start: memory.base + start, count: 3))
      byteOffset = pass(memory.base + start, count: 3)
      start += 3
    }
  }

  /// Reads once, after the present bytes.
  private func fill() throws(ImportError) {
    if let ahead, try takePiece(ahead) { return }
    let memory = try roomyMemory()
    let room = min(fillable - filled, limits.readBytes)
    let count = try source.read(
      into: UnsafeMutableRawBufferPointer(start: memory.base + filled, count: room))
    if count == 0 { atEnd = true }
    filled += count
  }

  /// The memory, with space for at least `count` more bytes. When it is full, the present bytes are moved to
  /// the front of another block: of the usual size for chunks like the last one, or twice as large as these
  /// bytes, so that each byte of a long record is moved about once.
  private func roomyMemory(for count: Int = 1) throws(ImportError) -> ChunkMemory {
    if let memory, fillable - filled >= count { return memory }
    let held = filled - start
    // Whole megabytes, so that the same sizes are requested again and again.
    let usual = (lastChunkBytes + limits.readBytes + (1 << 20) - 1) & ~((1 << 20) - 1)
    let most = limits.chunkBytes + limits.maximumRecordBytes + limits.readBytes + 64
    let wanted = held + limits.readBytes <= usual ? usual : 2 * held
    let capacity = max(min(wanted, most), held + max(64, count))
    guard let larger = pool.take(capacity: capacity) else { throw outOfMemory(capacity) }
    if let memory { larger.base.copyMemory(from: memory.base + start, byteCount: held) }
    memory = larger
    start = 0
    filled = held
    fillable = larger.capacity
    return larger
  }

  private func outOfMemory(_ bytes: Int) -> ImportError {
    .outOfMemory(bytes: bytes, position: position)
  }
}
