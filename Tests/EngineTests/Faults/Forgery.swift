@testable import Engine

/// A forged file, and everything that can be done with it.
struct Forgery {
  let storage: RecordingStorage

  init(_ bytes: [UInt8]) { storage = RecordingStorage(bytes, isRecording: false) }

  /// The first thing that went wrong; nil if nothing did.
  func problem() throws -> String? {
    let database: Database
    do {
      database = try Database.open(storage: storage, options: .tiny)
    } catch is EngineError {
      return nil
    }
    let found = (try? database.check().problems) ?? ["the check throws"]
    var problems: [String] = []
    func attempt(_ what: String, _ body: () throws -> Void) {
      do {
        try body()
      } catch let error as EngineError {
        switch error {
        case .damaged, .system:
          if found.isEmpty { problems.append("the check is silent, and \(what): \(error)") }
        default: break
        }
      } catch is QueryError {
        // A column has another type or name.
      } catch {
        problems.append("\(what) threw \(error)")
      }
    }
    attempt("reading") { try read(try database.snapshot()) }
    attempt("a query") { try query(try database.snapshot()) }
    attempt("info") {
      for name in try database.snapshot().tableNames { _ = try database.tableUse(name) }
      _ = try database.fileUse()
      _ = try database.compactionEstimate()
    }
    attempt("a compaction") {
      let snapshot = try database.snapshot()
      let copy = RecordingStorage(isRecording: false)
      try translatingErrors(storage.path) {
        _ = try Compactor.copy(snapshot.record, snapshot.blocks, to: copy, identity: .random())
      }
    }
    for name in (try? database.snapshot().tableNames) ?? [] {
      attempt("an insert") { try database.write { try insert($0.table(name)) } }
      attempt("an update") { try database.write { try change($0.table(name)) } }
      attempt("a column") {
        try database.write { transaction in
          let table = try transaction.table(name)
          try table.editor.addColumn(Column("another", .int, default: .int(5)))
          for column in table.columns.prefix(2) { try? table.addIndex(column.name) }
        }
      }
      attempt("emptying") { try database.write { try $0.table(name).deleteAll() } }
    }
    attempt("a table") {
      try database.write {
        try $0.createTable("another", columns: [Column("x", .int)])
        try insert($0.table("another"))
      }
    }
    if found.isEmpty, let after = try? database.check().problems, !after.isEmpty {
      problems.append("sound before the changes, then \(after.prefix(3))")
    }
    if !storage.viewsOutside.isEmpty { problems.append("\(storage.viewsOutside)") }
    return problems.isEmpty ? nil : problems.joined(separator: "; ")
  }

  private func read(_ snapshot: Snapshot) throws {
    _ = try Model.digest(snapshot)
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      try table.forEachView { view in for column in 0..<view.count { _ = try view.value(column) } }
      for key in [Int64.min, -1, 0, 1, 5, 24, .max] {
        _ = try table.row(forKey: key)
        _ = try table.position(ofKey: key)
      }
      for position in [0, 3, table.count - 1, .max] { _ = try table.row(at: position) }
      if table.schema.keyColumn != nil { _ = try table.row(forPrimaryKey: .text("7")) }
    }
  }

  private func query(_ snapshot: Snapshot) throws {
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      for predicate in [
        column("decimals") >= 2, column("id") == "7", column("dictionary") == "games",
      ] {
        guard (try? Query(predicate).explain(in: table)) != nil else { continue }
        _ = try Query(predicate).rows(in: table)
        _ = try ResultReader(Query(predicate), table, indexUse: .always).count()
      }
      var sorted = Query()
      sorted.sort = table.columns.suffix(2).map { SortOrder($0.name, descending: true) }
      sorted.limit = 5
      _ = try sorted.rows(in: table)
      sorted.columns = table.columns.suffix(2).map(\.name)
      sorted.isDistinct = true
      _ = try sorted.rows(in: table)
      _ = try Query().aggregates(table.columns.map { .maximum($0.name) }, in: table)
    }
  }

  private func insert(_ table: WritableTable) throws {
    for round in 0..<3 {
      try table.insert(
        table.columns.map { column -> Value in
          switch column.type {
          case .int: .int(Int64(round))
          case .double: .double(0.5)
          case .bool: .bool(true)
          case .date: CalendarDate(daysSince1970: 1).map { .date($0) } ?? .null
          case .dateTime: DateTime(microsecondsSince1970: 1).map { .dateTime($0) } ?? .null
          case .time: TimeOfDay(microseconds: 1).map { .time($0) } ?? .null
          case .decimal: ExactDecimal(coefficient: 15, scale: 1).map { .decimal($0) } ?? .null
          case .uuid: .uuid(UniqueIdentifier(bits: UInt128(round)))
          case .text: .text("new \(round)")
          case .data: .data([1, 2])
          }
        })
    }
  }

  private func change(_ table: WritableTable) throws {
    var keys: [Int64] = []
    try table.editor.forEachRow { keys.append($0.key) }
    for key in keys where key % 3 != 0 {
      guard let column = table.columns.first(where: { $0.isNullable }) else { continue }
      try table.update(key, [column.name: .null])
    }
    for key in keys where key % 3 == 0 { _ = try table.delete(key) }
  }
}
