import Dispatch
import Engine

// The examples of Engine.docc, each where it compiles. `DocumentationTests` compares them with the
// pages and runs them.

struct PageExamples: Sendable {
  // MARK: Engine.md

  /// Puts two books into a file, changes it, and says how many are good.
  func goodBooks(in file: String) throws -> Int {
    let database = try Database.open(file)  // created where it is missing
    try database.write { transaction in  // all of it or nothing
      try transaction.createTable(
        "books", columns: [Column("title", .text), Column("stars", .double)], key: "title")
      let books = try transaction.table("books")
      try books.insert(["title": .text("Emma"), "stars": .double(4.5)])
      try books.insert(["title": .text("Ulysses"), "stars": .double(3)])
    }
    let session = try database.session()  // a live view, for this thread
    let good = try session.objects("books").filter(column("stars") >= 4)
    try session.write { _ in
      for book in try good.objects { try book.set("stars", to: .double(5)) }
      try session.insert(["title": .text("Middlemarch"), "stars": .double(4)], into: "books")
    }
    let frozen = try good.freeze()  // for any thread, for as long as it is held
    try database.close()
    return try frozen.count
  }

  // MARK: Threads.md

  func sessionThread(_ database: Database) throws -> Int {
    let worker = try SessionThread(database, name: "ratings")
    let unrated = try worker.perform { session in
      try session.objects("apps").filter(column("Rating").isNull).count
    }
    return unrated
  }

  func sessionQueue(
    _ database: Database, _ report: @escaping @Sendable (String) -> Void
  ) -> SessionQueue {
    let background = SessionQueue(database, DispatchQueue(label: "statistics"))
    background.async { session in
      do {
        report("\(try session.get().objects("apps").count) apps")
      } catch {
        report("\(error)")
      }
    }
    return background
  }

  func tasks(_ database: Database, _ worker: SessionThread) async throws -> (Int, FrozenObject?) {
    let count = try await database.asyncRead { try $0.table("apps").count }
    let best = try await worker.perform { session in
      try session.objects("apps").sorted(by: .descending("Rating")).first?.freeze()
    }
    return (count, best)
  }

  func freezing(_ session: Session, _ report: @escaping @Sendable (String) -> Void) throws {
    let frozen = try session.objects("apps").filter("Category == 'GAME'").freeze()
    DispatchQueue.global().async {
      for row in (try? frozen.rows()) ?? [] { report("\(row["App"] ?? .null)") }
    }
  }

  func reference(to app: Object, _ worker: SessionThread) throws {
    let reference = try ThreadSafeReference(to: app)
    try worker.perform { session in
      guard let app = try session.resolve(reference) else { return }  // deleted meanwhile
      try session.write { _ in try app.set("Rating", to: .double(5)) }
    }
  }

  // MARK: Transactions.md

  func write(_ database: Database) throws {
    try database.write { transaction in
      let apps = try transaction.table("apps")
      guard let app = try apps.row(forPrimaryKey: .text("app 1")),
        case .int(let installs)? = app["Installs"]
      else { return }
      try apps.update(app.key, ["Installs": .int(installs + 1)])
    }
  }

  func cancel(_ session: Session) throws -> Bool {
    try session.beginWrite()
    let draft = try session.insert(["App": .text("draft")], into: "apps")
    try session.cancelWrite()
    let isGone = try draft.isInvalidated  // true
    return isGone
  }

  func asyncWrite(_ database: Database) async throws -> Int64 {
    let key = try await database.asyncWrite { transaction in
      try transaction.table("apps").insert(["App": .text("later"), "Rating": .double(4)])
    }
    return key
  }

  func connection(_ database: Database) throws -> [Int] {
    let connection = database.connection()
    try connection.beginLongLivedRead()
    let before = try connection.read { try $0.table("apps").count }
    try connection.write { _ = try $0.table("apps").insert(["App": .text("another")]) }
    let during = try connection.read { try $0.table("apps").count }  // the same
    try connection.endLongLivedRead()
    let after = try connection.read { try $0.table("apps").count }  // one more
    return [before, during, after]
  }

  func migrate(_ file: String) throws -> Database {
    var options = Database.Options()
    options.schema = Schema(
      version: 2,
      tables: [
        TableDefinition(
          "apps",
          columns: [
            Column("App", .text), Column("Category", .text), Column("Stars", .double),
            Column("Installs", .int), Column("Seen", .bool, nullable: false, default: .bool(false)),
          ], key: "App")
      ])
    options.migration = { transaction, oldVersion in
      if oldVersion < 2 { try transaction.table("apps").renameColumn("Rating", to: "Stars") }
    }
    let database = try Database.open(file, options: options)
    return database
  }

  // MARK: Notifications.md

  /// Brings names up to date that were taken from results.
  func apply(_ changes: ChangeSet, of results: Results, to names: inout [Value]) throws {
    for position in changes.deletions.reversed() { names.remove(at: position) }
    for position in changes.insertions {
      names.insert(try results[position]["App"], at: position)
    }
    for position in changes.newModifications { names[position] = try results[position]["App"] }
  }

  func list(
    _ database: Database, _ show: @escaping @Sendable ([Value]) -> Void
  ) throws -> SessionThread {
    let worker = try SessionThread(database, name: "list")
    try worker.perform { session in
      let games = try session.objects("apps").filter("Category == 'GAME'")
        .sorted(by: .descending("Rating"))
      var names: [Value] = []
      let token = try games.observe { change in
        do {
          switch change {
          case .initial(let games): names = try games.objects.map { try $0["App"] }
          case .update(let games, let changes): try apply(changes, of: games, to: &names)
          case .deleted: names = []  // the table is gone
          case .failed(let error): throw error
          }
          show(names)
        } catch {
          show([.text("\(error)")])
        }
      }
      try session.keep(token)
    }
    return worker
  }

  func keyPaths(
    of app: Object, _ show: @escaping ([Value]) -> Void
  ) throws -> NotificationToken {
    let token = try app.observe(keyPaths: ["Rating"]) { change in
      guard case .update(_, let changes) = change else { return }
      for change in changes { show([change.old, change.new]) }
    }
    return token
  }

  func onQueue(
    _ session: Session, _ show: @escaping @Sendable ([Value]) -> Void
  ) throws -> NotificationToken {
    let queue = DispatchQueue(label: "uploads")
    let token = try session.objects("apps").observe(on: queue) { change in
      guard case .update(let apps, let changes) = change else { return }
      show((try? changes.insertions.map { try apps[$0]["App"] }) ?? [])
    }
    return token
  }

  func silently(_ session: Session, _ app: Object, _ token: NotificationToken) throws {
    try session.write(withoutNotifying: [token]) { _ in
      try app.set("Installs", to: .int(7))
    }
  }

  // MARK: Queries.md

  func query(_ table: Table) throws -> [Value] {
    var query = Query(column("Rating") >= 4 && column("Category") == "GAME")
    query.sort = [.descending("Rating"), .ascending("App")]
    query.limit = 3
    query.columns = ["App"]
    let names = try query.rows(in: table).map { $0["App"] ?? .null }
    return names
  }

  func text(_ table: Table) throws -> Int {
    let predicate = try Predicate("App begins with[c] 'APP' and not (Installs in (1, 2, 3))")
    let count = try Query(predicate).count(in: table)
    return count
  }

  func groups(_ table: Table, _ report: (String) -> Void) throws {
    let groups = try Query().groups(by: ["Category"], [.average("Rating")], in: table)
    for group in groups { report("\(group.values[0]): \(group.count), \(group.aggregates[0])") }
  }

  // MARK: Compaction.md

  func shouldCompact(_ file: String, _ report: (String) -> Void) throws -> Database {
    var options = Database.Options()
    options.shouldCompact = { total, used in total > 50_000_000 && used < total / 2 }
    let database = try Database.open(file, options: options)
    if let result = database.compactionAtOpen {
      report("\(result.decision): \(result.after) bytes")
    }
    return database
  }

  func deleteAll(_ database: Database, _ report: (String) -> Void) throws {
    try database.write { try $0.deleteAll() }  // tables and columns stay
    let result = try database.compact()
    guard result.decision == .compacted else { return report(result.reason ?? "skipped") }
  }

  func copy(_ database: Database, to copy: String) throws {
    try database.writeCopy(to: copy)
  }
  func holders(_ database: Database, _ report: (String) -> Void) throws {
    for version in try database.activeVersions() where version.pinnedBytes > 0 {
      for holder in version.holders {
        report("process \(holder.process) keeps \(version.pinnedBytes) bytes of \(version.version)")
      }
    }
  }
}
