import Base
import Engine

extension Importer {
  /// Imports all inputs into a table of a PostgreSQL server: each record exactly once, whatever becomes of
  /// this process, of the server and of the connections, and however many processes run the same import.
  ///
  /// Ranges of `options.batchSize` records (10,000 where nil) are committed by several connections at once,
  /// each together with a row that says so, in tables beside the one that is loaded; `docs/distributed.md`
  /// has them. `options.database` is not looked at.
  ///
  /// - Parameters:
  ///   - options: what to import, and how.
  ///   - server: where to.
  ///   - report: set to what the import did, as far as it went: after a failure, to what is committed.
  /// - Complexity: time follows the input's bytes; memory is bounded by `server.connections` + 1 batches of
  ///   at most 16 MiB of input.
  /// - Throws: `ServerError` for the server, `ImportError` for what is wrong with an input or the options,
  ///   `SystemError` for the rejects files.
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

  /// Loads objects of a table into a table of a PostgreSQL server, as `load` does with inputs: each exactly
  /// once, by the same lanes, and with `options.resume` from where an earlier run has come to. Values are
  /// sent by what they mean.
  ///
  /// - Parameters:
  ///   - table: of a snapshot, which stays as it is meanwhile.
  ///   - path: of its file, by which and by the table's name the server knows what it has of it.
  ///   - exporter: which objects and columns, in which order; its format is not looked at.
  ///   - options: as `load` takes them; `options.inputs` is not looked at, `options.table` is the server's.
  ///   - server: where to.
  ///   - report: set to what was done, as far as it went.
  /// - Complexity: as `load`, and as `TableExporter.run`.
  /// - Throws: as `load`; `QueryError`, and `ImportError.tableFailed` where the table cannot be read.
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

  /// The calling thread's run and what became of it.
  private final class Loader: @unchecked Sendable {
    // @unchecked: one thread at a time, ordered by the thread's start and `join`.
    var run: ServerRun
    private(set) var failure: (any Error)?
    /// Kept from input to input.
    private let memory = ChunkMemoryPool.shared()

    init(_ run: ServerRun) { self.run = run }

    func load() {
      do { try run.run() } catch { failure = error }
    }
  }
}
