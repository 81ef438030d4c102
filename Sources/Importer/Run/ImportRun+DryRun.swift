import Base
import Engine

extension ImportRun {
  /// The database whose keys a dry run compares those of the input with; nil when there is none.
  mutating func openForDryRun() throws -> Database? {
    var database: Database?
    if try System.statusIfPresent(path: options.database) != nil {
      var settings = Database.Options(access: .readOnly)
      settings.waiting = options.waiting
      do {
        database = try Database.open(options.database, options: settings)
      } catch EngineError.cancelled {
        throw ImportError.interrupted
      }
    }
    do {
      if try lookUp(existingTable(database)) { return database }
    } catch {
      // What is thrown is what is told; the lock file must not stay behind.
      try? database?.close()
      throw error
    }
    try database?.close()
    return nil
  }

  /// Whether a dry run is to compare keys.
  private mutating func lookUp(_ table: Table?) throws -> Bool {
    report.objectsBefore = table?.count ?? 0
    tableSchema = table?.schema
    options.key = try key(of: table.map { TableContents($0) })
    guard options.key != nil else { return false }
    if let table, table.keyColumn == nil, !options.truncate {
      report.notes.append(
        "table '\(tableName)' has no key yet: a dry run does not tell whether its objects allow one"
      )
    }
    dryRunKeys = try DryRunKeys(
      present: options.truncate || table?.keyColumn == nil ? nil : table,
      notesSeen: options.deletesMissing)
    return true
  }
}
