import Base
import Engine

/// Threads that read and write the rows of a table concurrently, for one export.
///
/// The first thread walks the table, selects the requested rows, and passes pieces of them to the others;
/// when they have enough, it does the same work itself. The calling thread takes their output in the order of
/// the table.
///
/// Thread rule: one thread at a time.
struct ExportTeam {
  private let threads = PipelineThreads()
  private let size: Int
  /// The maximum number of pieces between the walk and the output.
  private var window: Int { 2 * size }

  /// With fewer rows a thread is not worth its cost.
  private static let fewRows = 4096

  /// - Returns: nil when there is too little to share, or no thread can be started.
  init?(_ size: Int, rows: Int) {
    self.size = size
    guard rows > Self.fewRows, (try? threads.start(size)) != nil else { return nil }
  }

  /// Writes the rows of a query that does not sort.
  ///
  /// - Parameter pieceBytes: the maximum bytes of a piece's output that wait for their turn.
  /// - Returns: the number of rows.
  /// - Throws: the errors of `TableExporter.run`.
  func run(
    _ reader: ResultReader, _ formatter: RowFormatter, hasHeader: Bool, pieceBytes: Int,
    write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    let queue = OrderedQueue<TablePiece, FormattedPiece>(window: window)
    // Those in the queue, and one of each thread.
    let buffers = Pool(capacity: window + size + 1)
    let walk = Walk(reader)
    let stream = FormattedStream(formatter)
    if hasHeader {
      stream.header()
      try stream.end(write)
    }
    var written = 0
    let own = reader.windowReader()
    try threads.run(size) { number in
      let worker = PieceFormatter(walk.windowReader(), formatter, buffers, mostBytes: pieceBytes)
      if number == 0 {
        walk.run(queue) { piece in .success(worker.format(piece)) }
      }
      while let (index, piece) = queue.take() {
        queue.deliver(index, .success(worker.format(piece)))
      }
    } meanwhile: {
      defer { queue.stop() }
      while let piece = try queue.next() {
        switch piece.output {
        case .bytes(let bytes):
          try write(bytes.bytes)
          bytes.removeAll()
          buffers.put(bytes)
        case .tooMany(let rows):
          do {
            try rows.read(own) { window in try stream.rows(window, write) }
          } catch {
            try stream.end(write)
            throw error
          }
          try stream.end(write)
        }
        if let failure = piece.failure { throw failure }
        written += piece.rowCount
      }
    }
    return written
  }
}

private struct FormattedPiece: Sendable {
  enum Output {
    case bytes(FormattedBytes)
    /// The output is too large to be kept in memory.
    case tooMany(TablePiece)
  }

  let output: Output
  let rowCount: Int
  /// The error that ended the piece; the output has the rows before it.
  var failure: (any Error)?
}

/// Passes the query to the thread that runs it.
private final class Walk: @unchecked Sendable {
  // @unchecked: one thread calls `run`; the other members do not change.
  private let reader: ResultReader

  init(_ reader: ResultReader) { self.reader = reader }

  func windowReader() -> WindowReader { reader.windowReader() }

  /// Puts all rows into the queue, or those before an error, and ends it.
  func run(
    _ queue: OrderedQueue<TablePiece, FormattedPiece>,
    help: (TablePiece) -> Result<FormattedPiece, any Error>
  ) {
    var pieces = TablePieces(path: reader.path, columns: reader.columnIndices.count)
    var failure: (any Error)?
    do {
      try reader.walkChosenLeaves { leaf, rows in
        pieces.add(leaf, rows) { queue.put($0, help: help) }
      }
    } catch {
      failure = error
    }
    if let last = pieces.end() { _ = queue.put(last, help: help) }
    queue.end(failure)
  }
}

/// Writes the rows of one piece after the other.
///
/// Thread rule: confined.
private final class PieceFormatter {
  private let reader: WindowReader
  private let formatter: RowFormatter
  private let buffers: Pool
  private let mostBytes: Int

  init(
    _ reader: WindowReader, _ formatter: RowFormatter, _ buffers: Pool, mostBytes: Int
  ) {
    self.reader = reader
    self.formatter = formatter
    self.buffers = buffers
    self.mostBytes = mostBytes
  }

  func format(_ piece: TablePiece) -> FormattedPiece {
    let output = buffers.take() as? FormattedBytes ?? FormattedBytes()
    var isWhole = true
    var failure: (any Error)?
    do {
      try piece.read(reader) { window in
        guard isWhole else { return }
        let facts = formatter.facts(window)
        let end = formatter.rows(window, facts, from: 0, to: output, limit: mostBytes)
        isWhole = end == window.count
      }
    } catch {
      failure = error
    }
    if isWhole {
      return FormattedPiece(output: .bytes(output), rowCount: piece.rowCount, failure: failure)
    }
    // Reading it again finds an error again, behind the rows before it.
    output.removeAll()
    buffers.put(output)
    return FormattedPiece(output: .tooMany(piece), rowCount: piece.rowCount)
  }
}
