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
    let loader = Loader(try ServerRun(options, server))
    defer { report = loader.run.report }
    let thread = try Thread(name: "sheaf-writer", stackBytes: 8 << 20) { loader.load() }
    thread.join()
    if let failure = loader.failure { throw failure }
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
