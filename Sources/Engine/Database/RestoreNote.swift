import Base

/// A note that a table returned to a kept version. It is stored in a table that no restoration takes back, so
/// that a list of the table's imports can tell which of them were undone.
///
/// Thread rule: a plain value, `Sendable`.
package struct RestoreNote: Sendable, Equatable {
  /// The table's name at that time.
  package let table: String
  /// The kept version that the table returned to.
  package let restored: UInt64
  /// The version that this created.
  package let version: UInt64

  package init(table: String, restored: UInt64, version: UInt64) {
    (self.table, self.restored, self.version) = (table, restored, version)
  }

  private static let purpose = "restores"
  private static let columns = [
    Column("table", .text, nullable: false), Column("restored", .int, nullable: false),
    Column("version", .int, nullable: false),
  ]
  /// The maximum number of notes.
  private static let most = 1000

  /// The kept notes, oldest first.
  ///
  /// - Complexity: O(restores), of which there are at most 1,000.
  /// - Throws: `EngineError.damaged`.
  package static func list(_ snapshot: Snapshot) throws -> [RestoreNote] {
    var notes: [RestoreNote] = []
    try snapshot.ownTable(purpose)?.forEachRow { notes += RestoreNote($0).map { [$0] } ?? [] }
    return notes
  }

  /// The kept notes in a transaction, oldest first.
  package static func list(_ transaction: borrowing WriteTransaction) throws -> [RestoreNote] {
    var notes: [RestoreNote] = []
    try transaction.ownTable(purpose, columns: nil)?.forEachRow {
      notes += RestoreNote($0).map { [$0] } ?? []
    }
    return notes
  }

  private init?(_ row: Row) {
    guard case .text(let table)? = row["table"], case .int(let restored)? = row["restored"],
      case .int(let version)? = row["version"]
    else { return nil }
    self.init(
      table: table, restored: UInt64(clamping: restored), version: UInt64(clamping: version))
  }

  /// Adds notes about tables that return to a kept version in a transaction.
  static func add(
    _ tables: [String], restored: UInt64, _ transaction: borrowing WriteTransaction
  ) throws {
    guard !tables.isEmpty, let notes = try transaction.ownTable(purpose, columns: columns) else {
      return
    }
    let version = Int64(clamping: transaction.baseVersion + 1)
    for table in tables.suffix(most) {
      try notes.insert([.text(table), .int(Int64(clamping: restored)), .int(version)])
    }
    while try notes.count > most, let oldest = try notes.row(at: 0) {
      guard try notes.delete(oldest.key) else { return }
    }
  }
}
