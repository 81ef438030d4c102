import Engine

/// A block of input that was read ahead, with the results of its scan.
struct Piece: Sendable {
  let memory: ChunkMemory
  /// The offset of its first byte in the memory.
  let place: Int
  /// The number of free bytes before it.
  let headroom: Int
  let byteCount: Int
  let facts: PieceFacts
}

/// Reads a file ahead in pieces, on several threads, which also scan the pieces, so that the thread that cuts
/// it into chunks has little left to do.
///
/// Pieces lie back to back in large blocks of memory. The part of a chunk in the previous block is moved
/// before the next block's first piece.
///
/// Only the bytes that the file had when it was opened are read ahead. A piece that is too short is the last
/// one: its user reads on from there, and finds the file's end, added bytes, or the error.
///
/// Thread rule: `serve` on any thread; everything else on the cutting thread.
final class ReadAhead: @unchecked Sendable {
  // @unchecked: the queue is made for sharing; only the cutting thread uses the other mutable state.

  private struct Request: Sendable {
    let memory: ChunkMemory
    let place: Int
    let headroom: Int
    let byteOffset: Int
    let byteCount: Int
  }

  private let source: any PositionedSource
  private let dialect: Dialect
  private let blankLinesAreRecords: Bool
  private let limits: ChunkLimits
  private let queue: OrderedQueue<Request, Piece>
  private let window: Int
  /// The number of threads that must call `serve`.
  let threads: Int
  private let pool: ChunkMemoryPool
  /// The beginning of the next piece, and the end of the last one.
  private var byteOffset: Int
  private let end: Int
  /// The requested sizes of pieces.
  private var wanted: [Int] = []
  private var memory: ChunkMemory?
  private var place = 0

  init(
    _ source: any PositionedSource, _ bytes: Range<Int>, threads: Int, dialect: Dialect,
    blankLinesAreRecords: Bool, limits: ChunkLimits, pool: ChunkMemoryPool
  ) {
    self.source = source
    (byteOffset, end) = (bytes.lowerBound, bytes.upperBound)
    self.dialect = dialect
    self.blankLinesAreRecords = blankLinesAreRecords
    self.limits = limits
    self.pool = pool
    self.threads = threads
    window = 2 * threads
    queue = OrderedQueue(window: window)
  }

  /// The loop of a reading thread.
  func serve() {
    while let (index, request) = queue.take() { queue.deliver(index, .success(read(request))) }
  }

  /// Ends the reading threads. They may still write into the memory that they have.
  func stop() { queue.stop() }

  /// The next piece; nil when the rest must be read in another way.
  ///
  /// - Parameter chunkBytes: the size of the last chunk.
  /// - Throws: `SystemError` when memory is exhausted.
  func next(chunkBytes: Int) throws(SystemError) -> Piece? {
    while wanted.count < window, byteOffset < end {
      let request = try request(chunkBytes)
      wanted.append(request.byteCount)
      byteOffset += request.byteCount
      guard queue.put(request, help: { .success(self.read($0)) }) else { return nil }
    }
    guard !wanted.isEmpty else { return nil }
    let count = wanted.removeFirst()
    // Reading ahead never fails: see `read`.
    guard let piece = try? queue.next() else { return nil }
    if piece.byteCount < count {
      wanted = []
      byteOffset = end
    }
    return piece.byteCount > 0 ? piece : nil
  }

  private func request(_ chunkBytes: Int) throws(SystemError) -> Request {
    let count = min(limits.pieceBytes, end - byteOffset)
    var headroom = 0
    if let memory, memory.capacity - place >= count {
    } else {
      // Several chunks for each one that must be moved in part.
      let usual = max(chunkBytes, limits.pieceBytes / 4)
      let pieces = min(8, max(1, 4 * usual / limits.pieceBytes))
      headroom = (usual + usual / 4 + 4095) & ~4095
      let capacity = headroom + pieces * limits.pieceBytes
      guard let larger = pool.take(capacity: capacity) else {
        throw SystemError.noMemory("read", source.name)
      }
      memory = larger
      place = headroom
    }
    guard let memory else { throw SystemError.noMemory("read", source.name) }
    defer { place += count }
    return Request(
      memory: memory, place: place, headroom: headroom, byteOffset: byteOffset, byteCount: count)
  }

  private func read(_ request: Request) -> Piece {
    let bytes = UnsafeMutableRawBufferPointer(
      start: request.memory.base + request.place, count: request.byteCount)
    let count = source.readAhead(into: bytes, at: request.byteOffset)
    let facts = PieceFacts(
      request.memory.base + request.place, count: count, strideBytes: limits.strideBytes,
      dialect: dialect, blankLinesAreRecords: blankLinesAreRecords)
    return Piece(
      memory: request.memory, place: request.place, headroom: request.headroom, byteCount: count,
      facts: facts)
  }
}
