import Base
import Engine

/// Imports CSV into a Sheaf database.
///
/// Thread rule: `run` may be called on any thread; it starts threads of its own and returns when
/// they have ended.
public enum Importer {
  /// Imports all inputs, then compacts the file if the policy says so.
  ///
  /// After any failure or crash the committed part of each input is a prefix of it, and `options.resume`
  /// continues from there.
  ///
  /// - Complexity: time grows with the input's bytes, memory does not: see `ImportOptions.queue`.
  /// - Throws: `ImportError` for an input or the options, `EngineError` for the database, `SystemError` for
  ///   the rejects files.
  public static func run(_ options: ImportOptions) throws -> ImportReport {
    var report = ImportReport()
    try run(options, report: &report)
    return report
  }

  /// Does the same, with a report even if the import fails.
  ///
  /// - Parameters:
  ///   - options: the inputs and how to import them.
  ///   - report: set to the outcome: after a failure, of the committed batches. Members that are not known
  ///     then are as in an empty report.
  /// - Throws: as `run`.
  public static func run(_ options: ImportOptions, report: inout ImportReport) throws {
    let writer = Writer(try ImportRun(options))
    defer { report = writer.run.report }
    let files = NestingGuard.openFiles
    let thread = try Thread(name: "sheaf-writer", stackBytes: 8 << 20) {
      NestingGuard.working(forOneInside: files) { writer.write() }
    }
    thread.join()
    if let failure = writer.failure { throw failure }
  }

  /// Records that `sniff` reads.
  static let sniffedRecords = ColumnTypes.sampleRecords
  /// Bytes of records after which `sniff` reads no more: fewer records of a wide table tell as much, and then
  /// take no longer than those of other tables.
  static let sniffedBytes = 1 << 19

  /// Says how inputs would be read: dialect, header, names and types, what was tried and what spoke for it
  /// (`FileReport.findings`), and what a person should know. Only the beginning of each is read, the first
  /// 1,000 records or their first 512 KiB, and of files a few kilobytes at the end; nothing is written. What
  /// is not UTF-8 is read in the encoding that explains its bytes best, which a note says; an import would
  /// not.
  ///
  /// - Parameter options: the inputs, and options for reading them; those for a database do not count.
  /// - Throws: `ImportError` for an input or the options.
  public static func sniff(_ options: ImportOptions) throws -> ImportReport {
    var options = options
    options.isSniffing = true
    options.dryRun = true
    options.database = ""
    options.keys = []
    options.limit = min(options.limit ?? .max, sniffedRecords)
    options.byteLimit = sniffedBytes
    options.limits.chunkBytes = min(options.limits.chunkBytes, sniffedBytes)
    options.maxRejects = .unlimited
    return try run(options)
  }

  /// The writer thread's run and its outcome.
  private final class Writer: @unchecked Sendable {
    // @unchecked: one thread at a time, ordered by the thread's start and `join`.
    var run: ImportRun
    private(set) var failure: (any Error)?
    /// Kept from input to input.
    private let memory = ChunkMemoryPool.shared()

    init(_ run: ImportRun) { self.run = run }

    func write() {
      do { _ = try run.run() } catch { failure = error }
    }
  }
}
