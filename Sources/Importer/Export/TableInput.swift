import Base
import Engine

/// A table of a Sheaf file as an input: its objects as CSV with a header, with values in canonical spellings.
///
/// It may be read several times. For each reading, a thread writes the CSV, at most a megabyte ahead of the
/// reader.
///
/// Thread rule: used by one thread; other threads read the sources that it returns.
final class TableInput {
  /// The name in errors and reports.
  let name: String
  /// The written columns, as in the file.
  let columns: [Column]
  private let exporter: TableExporter
  private let table: Table
  private var pipes: [BytePipe] = []
  private var threads: [Thread] = []

  /// - Parameters:
  ///   - path: the path of the file.
  ///   - exporter: the objects and columns.
  /// - Throws: `QueryError`, `EngineError.noSuchColumn`.
  init(_ table: Table, path: String, _ exporter: TableExporter) throws {
    self.table = table
    var exporter = exporter
    (exporter.format, exporter.hasHeader) = (.csv, true)
    (exporter.writesValues, exporter.writesHex) = (true, true)
    self.exporter = exporter
    columns = try exporter.written(table)
    // Two parts of a table are two inputs.
    let isPart = exporter.query.filter != nil || exporter.limit != nil
    let part = "\(exporter.query.filter.map { "\($0)" } ?? "") \(exporter.limit ?? -1)"
    let digest = String(Checksum.of(Array(part.utf8)), radix: 16)
    name = "\(path)#\(table.name)" + (isPart ? "#\(digest)" : "")
  }

  /// The type of each column's spellings.
  var types: [ColumnType?] { columns.map { $0.type == .data ? .text : $0.type } }

  /// Starts a reading, from the first byte.
  ///
  /// - Throws: `SystemError` when no thread can be started.
  func open(isCancelled: @escaping @Sendable () -> Bool) throws -> any ByteSource {
    let pipe = BytePipe()
    let (exporter, table) = (Exporter(exporter), table)
    threads.append(
      try Thread(name: "sheaf-table", stackBytes: 8 << 20) {
        do {
          try exporter.exporter.run(table) { try pipe.put($0) }
          pipe.end(nil)
        } catch {
          pipe.end(error)
        }
      })
    pipes.append(pipe)
    let source = TableSource(pipe, name: name)
    source.isCancelled = isCancelled
    return source
  }

  /// Ends all reading, and waits until no thread uses the table.
  func close() {
    for pipe in pipes { pipe.abandon() }
    for thread in threads { thread.join() }
    (pipes, threads) = ([], [])
  }

  deinit { close() }

  /// Passes the exporter to its thread.
  private final class Exporter: @unchecked Sendable {
    // @unchecked: a value that does not change.
    let exporter: TableExporter

    init(_ exporter: TableExporter) { self.exporter = exporter }
  }
}

@available(*, unavailable)
extension TableInput: Sendable {}

/// At most a megabyte of bytes, which one thread writes and another reads.
///
/// Thread rule: any thread; one writes and one reads.
private final class BytePipe: @unchecked Sendable {
  // @unchecked: `lock` guards everything.
  private let lock = Lock()
  private var bytes: [UInt8] = []
  private var start = 0
  private var isEnded = false
  private var isAbandoned = false
  private var failure: (any Error)?

  private static let capacity = 1 << 20

  /// The reader was released.
  struct Abandoned: Error {}

  /// Writes bytes; waits while the pipe is full.
  func put(_ new: UnsafeRawBufferPointer) throws {
    try lock.withLock {
      while bytes.count - start >= Self.capacity, !isAbandoned { lock.wait() }
      if isAbandoned { throw Abandoned() }
      if start > 0 {
        bytes.removeFirst(start)
        start = 0
      }
      bytes += new
      lock.wakeAll()
    }
  }

  /// Ends the bytes, with an error if there was one.
  func end(_ failure: (any Error)?) {
    lock.withLock {
      self.failure = failure
      isEnded = true
      lock.wakeAll()
    }
  }

  func abandon() {
    lock.withLock {
      isAbandoned = true
      lock.wakeAll()
    }
  }

  /// The outcome of a read.
  enum Taken {
    case bytes(Int)
    case end
    case failed(any Error)
    case cancelled
  }

  /// Reads the available bytes; waits while there are none.
  func take(into buffer: UnsafeMutableRawBufferPointer, _ isCancelled: () -> Bool) -> Taken {
    lock.withLock {
      while bytes.count == start, !isEnded, !isAbandoned {
        if isCancelled() { return .cancelled }
        lock.wait(milliseconds: 100)
      }
      if isAbandoned { return .cancelled }
      let count = min(bytes.count - start, buffer.count)
      if count == 0, isEnded, !buffer.isEmpty { return failure.map { .failed($0) } ?? .end }
      bytes.withUnsafeBytes { bytes in
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
      }
      start += count
      lock.wakeAll()
      return .bytes(count)
    }
  }
}

/// One reading of a table.
///
/// Thread rule: see `ByteSource`.
private final class TableSource: ByteSource, @unchecked Sendable {
  // @unchecked: only the reading thread uses `position`; see `ByteSource`.
  let name: String
  var identity: InputIdentity? { nil }
  var isCancelled: @Sendable () -> Bool = { false }
  private let pipe: BytePipe
  private var position = 0

  init(_ pipe: BytePipe, name: String) {
    self.pipe = pipe
    self.name = name
  }

  // A released source is read no further.
  deinit { pipe.abandon() }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    switch pipe.take(into: buffer, isCancelled) {
    case .bytes(let count):
      position += count
      return count
    case .end: return 0
    case .cancelled: throw .interrupted
    case .failed(let error as EngineError): throw .tableFailed(error)
    case .failed(let error):
      throw .readFailed(path: name, byteOffset: position, reason: "\(error)")
    }
  }

  func seek(to offset: Int) throws(ImportError) { throw .notSeekable(path: name) }
}
