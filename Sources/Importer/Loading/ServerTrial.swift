import Base
import Engine

/// Loads the same inputs again and again into a server's table, to measure the speed.
///
/// The table lies in a schema of its own, with its checkpoint tables; `end` removes all of it.
///
/// Thread rule: one thread at a time.
package final class ServerTrial {
  private let options: ImportOptions
  private let server: ServerOptions
  private let session: ServerSession
  private let schema: String

  /// Makes the schema and the table, and loads the inputs once: this finds the types, and brings the files
  /// into memory.
  ///
  /// - Throws: as `Importer.load`.
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
  /// - Throws: as `Importer.load`; `ImportError.interrupted`.
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

  /// Removes everything that was made.
  ///
  /// - Returns: the name of the schema, where it could not be removed.
  @discardableResult
  package func end() -> String? {
    // With a session of its own: this must work also once the measuring is interrupted.
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
