import Base
import Engine

/// Threads that read and write the rows of leaves concurrently, for one export.
///
/// The first thread walks the table, selects the requested rows, and passes leaves to the others; when they
/// have enough, it does the same work itself. The calling thread takes their output in the order of the
/// table.
///
/// Thread rule: one thread at a time.
struct ExportTeam {
  private let threads = PipelineThreads()
  private let size: Int
  /// The maximum number of leaves between the walk and the output.
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
  /// - Parameter leafBytes: the maximum bytes of a leaf's output that wait for their turn.
  /// - Returns: the number of rows.
  /// - Throws: the errors of `TableExporter.run`.
  func run(
    _ reader: ResultReader, _ formatter: RowFormatter, hasHeader: Bool, leafBytes: Int,
    write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    let queue = OrderedQueue<ChosenRows, FormattedLeaf>(window: window)
    let buffers = Pool(capacity: window)
    let walk = Walk(reader)
    let stream = FormattedStream(formatter)
    if hasHeader {
      stream.header()
      try stream.end(write)
    }
    var written = 0
    let own = reader.windowReader()
    try threads.run(size) { number in
      let worker = LeafFormatter(walk.windowReader(), formatter, buffers, mostBytes: leafBytes)
      if number == 0 {
        walk.run(queue) { rows in Result { try worker.format(rows) } }
      }
      while let (index, rows) = queue.take() {
        queue.deliver(index, Result { try worker.format(rows) })
      }
    } meanwhile: {
      defer { queue.stop() }
      while let leaf = try queue.next() {
        switch leaf.output {
        case .bytes(let bytes):
          try write(bytes.bytes)
          bytes.removeAll()
          buffers.put(bytes)
        case .tooMany(let rows):
          try translatingErrors(rows.path) {
            try own.read(rows.leaf, rows.chosen, withKeys: false) { window, _ in
              try stream.rows(window, write)
            }
          }
          try stream.end(write)
        }
        written += leaf.rowCount
      }
    }
    return written
  }
}

/// Rows of a leaf, passed to the thread that writes them.
private struct ChosenRows: @unchecked Sendable {
  // @unchecked: the thread that walks the table no longer uses the leaf.
  let leaf: Leaf
  let chosen: RowBits
  let path: String
}

private struct FormattedLeaf: Sendable {
  enum Output {
    case bytes(FormattedBytes)
    /// The output is too large to be kept in memory.
    case tooMany(ChosenRows)
  }

  let output: Output
  let rowCount: Int
}

/// Passes the query to the thread that runs it.
private final class Walk: @unchecked Sendable {
  // @unchecked: one thread calls `run`; the other members do not change.
  private let reader: ResultReader

  init(_ reader: ResultReader) { self.reader = reader }

  func windowReader() -> WindowReader { reader.windowReader() }

  /// Puts all leaves with rows into the queue, and ends it.
  func run(
    _ queue: OrderedQueue<ChosenRows, FormattedLeaf>,
    help: (ChosenRows) -> Result<FormattedLeaf, any Error>
  ) {
    do {
      let path = reader.path
      try reader.walkChosenLeaves { leaf, rows in
        queue.put(ChosenRows(leaf: leaf, chosen: rows, path: path), help: help)
      }
      queue.end()
    } catch {
      queue.end(error)
    }
  }
}

/// Writes the rows of one leaf after the other.
///
/// Thread rule: confined.
private final class LeafFormatter {
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

  func format(_ rows: ChosenRows) throws -> FormattedLeaf {
    let output = buffers.take() as? FormattedBytes ?? FormattedBytes()
    var isWhole = true
    try translatingErrors(rows.path) {
      try reader.read(rows.leaf, rows.chosen, withKeys: false) { window, _ in
        guard isWhole else { return }
        let end = formatter.rows(window, from: 0, to: output, limit: mostBytes)
        isWhole = end == window.count
      }
    }
    let count = rows.chosen.population
    if isWhole { return FormattedLeaf(output: .bytes(output), rowCount: count) }
    output.removeAll()
    buffers.put(output)
    return FormattedLeaf(output: .tooMany(rows), rowCount: count)
  }
}
