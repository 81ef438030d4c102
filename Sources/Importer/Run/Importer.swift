import Base
import Engine

/// Imports CSV into a Sheaf database.
///
/// Thread rule: `run` may be called on any thread; it starts threads of its own and returns when they have
/// ended.
public enum Importer {
  /// Imports all inputs, then compacts the file if the policy requires it.
  ///
  /// After a failure or crash, the committed part of each input is a prefix of it, and an import with
  /// `options.resume` continues from there.
  ///
  /// - Complexity: time O(bytes of the inputs); memory does not depend on them: see `ImportOptions.queue`.
  /// - Throws: `ImportError` for an input or the options, `EngineError` for the database, `SystemError` for
  ///   the rejects files.
  public static func run(_ options: ImportOptions) throws -> ImportReport {
    var report = ImportReport()
    try run(options, report: &report)
    return report
  }

  /// Imports all inputs like `run(_:)`, with a report even if the import fails.
  ///
  /// - Parameters:
  ///   - options: the inputs, the destination, and how to import.
  ///   - report: receives the outcome; after a failure, that of the committed batches. Properties that are
  ///     then unknown are those of an empty report.
  /// - Throws: the errors of `run(_:)`.
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

  /// The number of records that `sniff` reads.
  static let sniffedRecords = ColumnTypes.sampleRecords
  /// The bytes of records at which `sniff` ends: fewer records of a wide table suffice, and take as long as
  /// more records of others.
  static let sniffedBytes = 1 << 19

  /// Describes how inputs would be read: dialect, header, names and types, the alternatives with the reasons
  /// for the choice (`FileReport.findings`), and notes for the user. It reads only the beginning of each
  /// input, the first 1,000 records or their first 512 KiB, and some kilobytes at the end of a file; it
  /// writes nothing. Unlike an import, it decodes an input that is not UTF-8 in the most likely encoding,
  /// with a note.
  ///
  /// - Parameter options: the inputs, and options for reading them; those for a database have no effect.
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
    // @unchecked: used by one thread at a time, ordered by the thread's start and `join`.
    var run: ImportRun
    private(set) var failure: (any Error)?
    /// Kept between inputs.
    private let memory = ChunkMemoryPool.shared()

    init(_ run: ImportRun) { self.run = run }

    func write() {
      do { _ = try run.run() } catch { failure = error }
    }
  }
}
