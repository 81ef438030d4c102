import Base
import Engine

/// Cuts an input into chunks of whole records.
///
/// Record ends are `\n`, `\r\n` and `\r`, mixed freely, outside quotes. A quote opens a quoted field
/// only at the start of a field, or behind blanks there. A last record needs no record end. A
/// byte-order mark at the start of the input is skipped: the first chunk's `byteOffset` is then 3, or
/// 2 for UTF-16. Blank lines are skipped unless `blankLinesAreRecords`, and so are comments.
///
/// The chunks lie in the input back to back and cover all of it but the lines that were skipped.
/// Memory is bounded by the chunks that are held, `chunkBytes`, and `maximumRecordBytes`.
///
/// Thread rule: used by one thread at a time; may be handed from the thread that looks at the header
/// to the one that reads the rest.
package final class RecordSplitter: @unchecked Sendable {
  // @unchecked: a reader's private state, handed over but never shared.

  /// May be changed until the first chunk is taken, and between chunks.
  package var dialect: Dialect
  /// Whether a blank line is a record (of one null): so in a table of one column. May be changed
  /// between chunks.
  package var blankLinesAreRecords = false
  /// Number of the next record. May be changed between chunks: to 1 when there is no header.
  package var nextRecord: Int
  /// Where the next chunk begins. Behind a byte-order mark only once the input has been looked at.
  package private(set) var byteOffset: Int
  package private(set) var line: Int
  /// Of all bytes of the input before `byteOffset`, a byte-order mark included, when the splitter began
  /// at the input's start.
  package private(set) var checksum = RunningChecksum()

  private let source: any ByteSource
  let encoding: TextEncoding
  /// What the bytes were before; nil where the encoding alone tells.
  private let original: SystemText?
  private let limits: ChunkLimits
  private let pool = ChunkMemoryPool.shared()
  private var memory: ChunkMemory?
  /// The bytes at hand are `start..<filled` of the memory; the next chunk begins at `start`.
  private var start = 0
  private var filled = 0
  /// What of the memory this splitter may fill itself; behind it are pieces that are being read ahead.
  private var fillable = 0
  private var ahead: ReadAhead?
  /// What is known of the bytes behind this place in the memory.
  private var known: (place: Int, facts: PieceFacts)?
  private var atEnd = false
  private var begun = false
  private var nextIndex = 0
  private var lastChunkBytes = 0

  /// - Parameters:
  ///   - source: the input as UTF-8.
  ///   - encoding: what it was before: all offsets are those of the input as it is.
  package convenience init(
    source: any ByteSource, dialect: Dialect = .rfc4180, limits: ChunkLimits = ChunkLimits(),
    start: Start = Start(), encoding: TextEncoding = .utf8
  ) {
    self.init(
      source: source, dialect: dialect, limits: limits, start: start, encoding: encoding,
      original: nil)
  }

  /// - Parameter original: what the bytes of `source` were before they became UTF-8, from its first one on.
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

  /// The most records a chunk should be given, so that the spans of its fields stay within some
  /// tens of megabytes even where short records are padded to many columns.
  package static func maximumRecords(columnCount: Int) -> Int {
    max(1, (4 << 20) / (max(1, columnCount) + 4))
  }

  /// The next chunk; nil at the end of the input.
  ///
  /// It ends after `recordLimit` records, or with the record in which it reaches `chunkBytes`,
  /// whichever comes first.
  ///
  /// - Throws: what reading throws; `ImportError.recordTooLong`, once the records before the long
  ///   one have been returned; `ImportError.outOfMemory`; `ImportError.notSeekable`.
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
        let isUnfinished = scan.isInRecord(count: filled - start)
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

  /// Copies up to `count` of the bytes that the next chunks will hold, without taking them: enough
  /// to sniff the dialect and the header of a pipe. Fewer only at the end of the input.
  ///
  /// - Throws: what reading throws.
  package func peek(_ count: Int) throws(ImportError) -> [UInt8] {
    try begin()
    while filled - start < count && !atEnd { try fill() }
    guard let memory else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: memory.base + start, count: min(count, filled - start)))
  }

  /// What the bytes that `peek` gives were before, for another splitter of them; nil where the encoding alone
  /// tells.
  func peekOriginal() -> SystemText? { original.map { SystemText(copying: $0) } }

  /// Takes the next `count` lines away, whatever is in them; fewer only at the end of the input.
  /// Chunks then begin behind them.
  ///
  /// - Throws: what reading throws.
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

  // MARK: Going on

  /// What `skip` found.
  package enum Skipped: Sendable, Equatable {
    /// All bytes were there, and were these.
    case done(endsLine: Bool)
    /// The input ended before.
    case tooShort
    /// Other bytes were there.
    case different
  }

  /// Passes over bytes that an earlier import has read, so that the next chunk begins behind them.
  ///
  /// - Parameters:
  ///   - offset: where that is, before a character; not before `byteOffset`.
  ///   - checksum: of the input's bytes before it.
  ///   - isCancelled: asked now and then.
  /// - Throws: what reading throws; `ImportError.interrupted`.
  /// - Complexity: O(bytes): all of them are read again.
  package func skip(
    to offset: Int, checksum wanted: UInt64, isCancelled: () -> Bool = { false }
  ) throws(ImportError) -> Skipped {
    try begin()
    guard offset >= byteOffset else { return .different }
    // Whether a line feed, or a return that none follows, comes last.
    var endsLine = true
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
        // A character that is not all there yet, or one that the place lies inside of.
        if atEnd || present.count > 8 { return .different }
        try fill()
        continue
      }
      let bytes = UnsafeRawBufferPointer(rebasing: present[..<count])
      checksum.update(bytes)
      endsLine = bytes[count - 1] == 0x0A
      start += count
      byteOffset += length
    }
    return checksum.value == wanted ? .done(endsLine: endsLine) : .different
  }

  /// Says which line and record the next chunk begins with, after `skip`.
  package func goOn(line: Int, record: Int) {
    self.line = line
    nextRecord = record
  }

  /// Adds a reason to give up waiting for a pipe, with `ImportError.interrupted`.
  package func stopsWaiting(when condition: @escaping @Sendable () -> Bool) {
    let before = source.isCancelled
    source.isCancelled = { before() || condition() }
  }

  /// Whether no byte is left.
  ///
  /// - Throws: what reading throws.
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
    // Whether a line feed completes the record end, and whether this is the last chunk, takes one
    // more byte to know.
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
    // A start that was read from a damaged checkpoint may be any number.
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

  /// How many bytes of the input the next ones at hand, which are taken now, stand for.
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

  /// Has what follows read on several threads, as many as what is returned says, each of which has
  /// to call its `serve`: nil where that cannot be, or is not worth it. The dialect and what blank
  /// lines are must not change any more.
  ///
  /// - Throws: what reading throws.
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

  /// Ends the reading of what follows on several threads, at the end or before.
  func stopReadingAhead() {
    ahead?.stop()
    ahead = nil
  }

  /// Takes the next piece that was read ahead; false at their end, where reading goes on as without them.
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
      // A chunk that is much longer than the last one.
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

  /// Reads once, behind the bytes at hand.
  private func fill() throws(ImportError) {
    if let ahead, try takePiece(ahead) { return }
    let memory = try roomyMemory()
    let room = min(fillable - filled, limits.readBytes)
    let count = try source.read(
      into: UnsafeMutableRawBufferPointer(start: memory.base + filled, count: room))
    if count == 0 { atEnd = true }
    filled += count
  }

  /// The memory, with room for so many more bytes. When it is full, the bytes at hand move to
  /// the front of another: of the usual size for chunks like the last one, or else twice as large as
  /// they are, so that each byte of a long record is moved about once.
  private func roomyMemory(for count: Int = 1) throws(ImportError) -> ChunkMemory {
    if let memory, fillable - filled >= count { return memory }
    let held = filled - start
    // Whole megabytes, so that memory is asked for in the same size again and again.
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
