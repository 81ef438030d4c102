// A transaction inside a transaction would wait for itself for ever. It is refused with an error that
// says what to do instead: pass the transaction on.
//
//     swift run NestedTransaction [DATABASE]

import Dispatch
import Engine
import StorySupport

@main
enum NestedTransaction {
  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("orders", columns: [Column("Item", .text)])
      try transaction.createTable("stock", columns: [Column("Item", .text), Column("Left", .int)])
      try transaction.table("stock").insert([.text("tea"), .int(10)])
    }

    // Wrong: the helper begins a transaction of its own. The error rolls back the outer one too.
    do {
      try database.write { transaction in
        _ = try transaction.table("orders").insert([.text("tea")])
        try takeOneByItself(database)
      }
    } catch {
      print("refused: \(error)")
    }
    try show("after the refusal", database)

    // Right: the helper takes the transaction that there is. Both changes are one commit.
    try database.write { transaction in
      _ = try transaction.table("orders").insert([.text("tea")])
      try takeOne(transaction)
    }
    try show("passed on", database)

    // Also right, when the second change need not be part of the first: it comes after it.
    let isMade = DispatchSemaphore(value: 0)
    try database.write { transaction in
      database.asyncWrite {
        try takeOne($0)
      } completion: { _ in
        isMade.signal()
      }
      _ = try transaction.table("orders").insert([.text("more tea")])
    }
    isMade.wait()
    try show("one after the other", database)

    // The same holds for a session, whichever way the second one is begun.
    let session = try database.session()
    try session.write { _ in
      do { try session.beginWrite() } catch { print("a session refuses it too") }
    }
    try database.close()
  }

  static func takeOneByItself(_ database: Database) throws {
    try database.write { try takeOne($0) }
  }

  static func takeOne(_ transaction: borrowing WriteTransaction) throws {
    let stock = try transaction.table("stock")
    guard case .int(let left)? = try stock.row(forKey: 1)?["Left"] else { return }
    try stock.update(1, ["Left": .int(left - 1)])
  }

  static func show(_ when: String, _ database: Database) throws {
    let snapshot = try database.snapshot()
    let left = try snapshot.table("stock").row(forKey: 1)?["Left"] ?? .null
    print("\(when): \(try snapshot.table("orders").count) orders, \(Story.text(left)) left")
  }
}
