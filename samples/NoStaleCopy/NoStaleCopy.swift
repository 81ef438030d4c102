// The lost update, and how a transaction avoids it.
//
//     swift run NoStaleCopy [DATABASE]
//
// What was read before a write transaction began may be out of date inside it. What is read inside is
// the newest there is, and stays so until the commit: nobody else can write meanwhile.

import Dispatch
import Engine
import StorySupport
import Synchronization

@main
enum NoStaleCopy {
  static let failures = Atomic<Int>(0)

  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("accounts", columns: [Column("Balance", .int)])
      try transaction.table("accounts").insert([.int(100)])
    }

    // Wrong: both read 100 before either writes, so the second overwrites what the first did.
    let first = try balance(database.snapshot())
    let second = try balance(database.snapshot())
    try database.write { try $0.table("accounts").update(1, ["Balance": .int(first + 10)]) }
    try database.write { try $0.table("accounts").update(1, ["Balance": .int(second + 10)]) }
    print("read outside: 100 + 10 + 10 = \(try balance(database.snapshot()))")

    // Right: read inside. Four threads, and nothing is lost.
    try database.write { try $0.table("accounts").update(1, ["Balance": .int(100)]) }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do {
        for _ in 0..<25 { try database.write { try pay(10, into: 1, of: $0) } }
      } catch {
        failures.add(1, ordering: .relaxed)
      }
    }
    print("read inside: 100 + 100 * 10 = \(try balance(database.snapshot()))")

    // A session's write moves the session on first, so its live objects are up to date inside.
    let session = try database.session()
    let account = try session.objects("accounts")[0]
    try database.write { try pay(1000, into: 1, of: $0) }  // the session does not know of this yet
    let stale = Story.text(try account["Balance"])
    try session.write { _ in
      let fresh = Story.text(try account["Balance"])
      print("a live object: \(stale) before the write, \(fresh) inside")
    }
    print("\(failures.load(ordering: .relaxed)) threads failed")
    try database.close()
  }

  static func pay(_ amount: Int64, into key: Int64, of transaction: borrowing WriteTransaction)
    throws
  {
    let accounts = try transaction.table("accounts")
    guard case .int(let balance)? = try accounts.row(forKey: key)?["Balance"] else { return }
    try accounts.update(key, ["Balance": .int(balance + amount)])
  }

  static func balance(_ snapshot: Snapshot) throws -> Int64 {
    guard case .int(let balance)? = try snapshot.table("accounts").row(forKey: 1)?["Balance"] else {
      return 0
    }
    return balance
  }
}
