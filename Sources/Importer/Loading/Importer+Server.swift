import Base
import Engine

extension Importer {
  /// Imports all inputs into a table of a PostgreSQL server, each record exactly once: also when this process
  /// is killed, the server crashes or connections are lost, and when any number of processes run the same
  /// import.
  ///
  /// Several connections commit ranges of `options.batchSize` records (10,000 if nil) concurrently, each with
  /// a row that records the range, in tables beside the loaded one; see `docs/distributed.md`.
  /// `options.database` is ignored.
  ///
  /// Thread rule: any thread; it starts threads of its own and returns when they have ended.
  ///
  /// - Parameters:
  ///   - options: the inputs, and how to read them.
  ///   - server: the server, its table and how to load it.
  ///   - report: receives the results of the import; after a failure, of what is committed.
  /// - Complexity: time O(bytes of the inputs); memory: `server.connections` + 1 batches of at most 16 MiB of
  ///   input.
  /// - Throws: `ServerError` for the server, `ImportError` for an input or the options, `SystemError` for the
  ///   rejects files.
  public static func load(
    _ options: ImportOptions, into server: ServerOptions, report: inout ImportReport
  ) throws {
    try run(Loader(try ServerRun(options, server)), &report)
  }

  private static func run(_ loader: Loader, _ report: inout ImportReport) throws {
    defer { report = loader.run.report }
    let thread = try Thread(name: "sheaf-writer", stackBytes: 8 << 20) { loader.load() }
    thread.join()
    if let failure = loader.failure { throw failure }
  }

  /// Loads objects of a table into a table of a PostgreSQL server, as `load(_:into:report:)` does with
  /// inputs: each exactly once, by the same lanes, and with `options.resume` from the point that an earlier
  /// run reached. Values are sent by their meaning.
  ///
  /// - Parameters:
  ///   - table: a table of a snapshot, which does not change meanwhile.
  ///   - path: the path of its file. The path and the table's name identify the input in the server's tables.
  ///   - exporter: the objects and columns, and their order; its format is ignored.
  ///   - options: as for `load(_:into:report:)`; `options.inputs` is ignored, `options.table` is the server's
  ///     table.
  ///   - server: the server, its table and how to load it.
  ///   - report: receives the results of the import; after a failure, of what is committed.
  /// - Complexity: that of `load(_:into:report:)` and of `TableExporter.run`.
  /// - Throws: the errors of `load(_:into:report:)`; `QueryError`, and `ImportError.tableFailed` when the
  ///   table cannot be read.
  public static func load(
    _ table: Table, in path: String, _ exporter: TableExporter, _ options: ImportOptions,
    into server: ServerOptions, report: inout ImportReport
  ) throws {
    let input = try TableInput(table, path: path, exporter)
    defer { input.close() }
    var options = options
    (options.inputs, options.database) = ([input.name], path)
    options.table = options.table ?? table.name
    try run(Loader(try ServerRun(options, server, input)), &report)
  }

  /// The calling thread's run and its result.
  private final class Loader: @unchecked Sendable {
    // @unchecked: used by one thread at a time, ordered by the thread's start and `join`.
    var run: ServerRun
    private(set) var failure: (any Error)?
    /// Kept between inputs.
    private let memory = ChunkMemoryPool.shared()

    init(_ run: ServerRun) { self.run = run }

    func load() {
      do { try run.run() } catch { failure = error }
    }
  }
}
