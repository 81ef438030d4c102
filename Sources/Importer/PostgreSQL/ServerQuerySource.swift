import Base
import Engine

/// The rows of a server's query, as CSV with a header.
///
/// Holds one row in memory. Rows cannot be read a second time.
///
/// Thread rule: see `ByteSource`.
final class ServerQuerySource: ByteSource, @unchecked Sendable {
  // @unchecked: only the one thread that reads touches the connection and `left`; see `ByteSource`.
  let name: String
  var identity: InputIdentity? { nil }
  var isCancelled: @Sendable () -> Bool = { false }
  /// The columns' types, in their order; nil for types without an equivalent here.
  let types: [ColumnType?]
  private let connection: ServerConnection
  private let infinities: InfinitySpellings
  /// The rest of a row that was longer than the reader asked for.
  private var left: [UInt8] = []
  private var leftStart = 0
  private var isAtHeader = true
  private var isAtEnd = false

  /// Connects and begins the query, in a read-only transaction that sees one state of the database.
  ///
  /// - Parameter isCancelled: called while the server is silent; true ends the wait.
  /// - Throws: `ImportError.queryFailed`, `.interrupted`.
  init(_ query: ServerQuery, isCancelled: @escaping @Sendable () -> Bool) throws(ImportError) {
    name = query.shown
    do throws(ServerError) {
      let target = try ServerTarget(query.address)
      connection = try ServerConnection(
        target, isStopping: isCancelled, isCancelled: isCancelled)
      try connection.run(Self.settings)
      // The query has lines of its own: it may end with a comment.
      let columns = try connection.columns(
        of: "SELECT * FROM (\n\(query.text)\n) AS sheaf_query LIMIT 0")
      types = columns.map { Self.type($0.type) }
      infinities = InfinitySpellings(columns.map { [700, 701].contains($0.type) })
      guard !columns.isEmpty else {
        throw ServerError(.usage, "\(target.shown): the query gives no columns")
      }
      try connection.beginCopyingOut("COPY (\n\(query.text)\n) TO STDOUT (FORMAT csv, HEADER)")
    } catch {
      throw Self.failure(error)
    }
  }

  deinit { connection.close() }

  private static let settings =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL TimeZone = "
    + "'UTC'; SET LOCAL IntervalStyle = 'postgres'; SET LOCAL bytea_output = 'hex'; SET LOCAL "
    + "extra_float_digits = 1; SET LOCAL statement_timeout = 0; SET LOCAL "
    + "idle_in_transaction_session_timeout = 0"

  /// The type of values of a PostgreSQL type, as CSV spells them.
  private static func type(_ oid: Int) -> ColumnType {
    // A decimal is exact, like a numeric.
    oid == 1700 ? .decimal : ServerTable.type(oid) ?? .text
  }

  private static func failure(_ error: ServerError) -> ImportError {
    error.kind == .interrupted ? .interrupted : .queryFailed(error)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    var count = takeLeft(buffer)
    while count < buffer.count, !isAtEnd {
      if isCancelled() { throw .interrupted }
      do throws(ServerError) {
        let copied = try connection.nextCopied(waits: count == 0) { row in
          if isAtHeader {
            isAtHeader = false
            count += give(row, UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
          } else {
            infinities.withSpellings(row) {
              count += give($0, UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            }
          }
        }
        switch copied {
        case .row: break
        case .nothingYet: return count
        case .end:
          isAtEnd = true
          connection.close()
        }
      } catch {
        throw Self.failure(error)
      }
    }
    return count
  }

  /// Copies a row into the buffer, and keeps the part that does not fit.
  ///
  /// - Returns: the number of bytes copied.
  private func give(
    _ row: UnsafeRawBufferPointer, _ buffer: UnsafeMutableRawBufferPointer
  ) -> Int {
    let count = min(row.count, buffer.count)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: row[..<count]))
    if count < row.count { (left, leftStart) = (Array(row[count...]), 0) }
    return count
  }

  private func takeLeft(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(left.count - leftStart, buffer.count)
    guard count > 0 else { return 0 }
    left.withUnsafeBytes { bytes in
      buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[leftStart..<leftStart + count]))
    }
    leftStart += count
    return count
  }

  func seek(to offset: Int) throws(ImportError) { throw .notSeekable(path: name) }
}
