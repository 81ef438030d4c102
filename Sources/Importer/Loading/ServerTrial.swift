import Base
import Engine

/// Loads the same inputs repeatedly into a server's table, to measure the speed.
///
/// The table is in a schema of its own, with its checkpoint tables; `end` removes everything.
///
/// Thread rule: one thread at a time.
package final class ServerTrial {
  private let options: ImportOptions
  private let server: ServerOptions
  private let session: ServerSession
  private let schema: String

  /// Creates the schema and the table, and loads the inputs once, to find the types and to bring the files
  /// into memory.
  ///
  /// - Throws: the errors of `Importer.load`.
  package init(_ options: ImportOptions, into server: ServerOptions) throws {
    schema = "sheaf_tune_" + String(UInt64.random(in: 0 ... .max), radix: 16)
    var options = options
    options.table = schema + ".t"
    var server = server
    server.creates = true
    (self.options, self.server) = (options, server)
    let shouldStop = options.shouldStop
    session = ServerSession(
      try ServerTarget(server.address), retrySeconds: 0, isStopping: shouldStop,
      isAbandoned: shouldStop)
    try session.use { [schema] in _ = try $0.run("CREATE SCHEMA \(SQLText.name(schema))") }
    do {
      var report = ImportReport()
      try Importer.load(options, into: server, report: &report)
      if report.isInterrupted { throw ImportError.interrupted }
    } catch {
      end()
      throw error
    }
  }

  /// Loads the inputs into the empty table.
  ///
  /// - Throws: the errors of `Importer.load`; `ImportError.interrupted`.
  package func run(
    batchRecords: Int, connections: Int, _ durability: Durability
  ) throws -> ImportReport {
    var options = options
    (options.truncate, options.allowsEmpty) = (true, true)
    options.batchSize = .records(batchRecords)
    options.durability = durability
    var server = server
    server.connections = connections
    var report = ImportReport()
    try Importer.load(options, into: server, report: &report)
    if report.isInterrupted { throw ImportError.interrupted }
    return report
  }

  /// Removes everything that was created.
  ///
  /// - Returns: the name of the schema, if it could not be removed.
  @discardableResult
  package func end() -> String? {
    // In a session of its own, which must also work after an interruption.
    let last = ServerSession(
      session.target, retrySeconds: 5, isStopping: { false }, isAbandoned: { false })
    session.close()
    defer { last.close() }
    do {
      try last.use { _ = try $0.run("DROP SCHEMA IF EXISTS \(SQLText.name(schema)) CASCADE") }
      return nil
    } catch {
      return schema
    }
  }
}

@available(*, unavailable)
extension ServerTrial: Sendable {}
