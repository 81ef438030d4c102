// A writer that has brought its own view up to date does not want to be told of its own change.
//
//     swift run SilentWrite [DATABASE]
//
// `write(withoutNotifying:)` leaves chosen observers out for one commit. All others are told, and so
// are the chosen ones of everything else, with positions that take the silent change into account.

import Dispatch
import Engine
import StorySupport

@main
enum SilentWrite {
  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write { try $0.createTable("rows", columns: [Column("Row", .text)]) }

    // Another part of the program, on its own thread.
    let others = DispatchSemaphore(value: 0)
    let other = try SessionThread(database)
    try other.perform { session in
      try session.keep(
        try session.objects("rows").observe { change in
          describe("other", change)
          others.signal()
        })
    }
    others.wait()

    let mine = DispatchSemaphore(value: 0)
    let list = try SessionThread(database)
    try list.perform { session in
      let token = try session.objects("rows").observe { change in
        describe("list", change)
        mine.signal()
      }
      // The list inserts the row on the screen itself; being told of it would show it twice. (A write
      // first delivers what is due: the initial call comes here.)
      try session.write(withoutNotifying: [token]) { _ in
        try session.insert(["Row": .text("typed by hand")], into: "rows")
      }
      print("list: wrote row 0 silently")
      try session.keep(token)
    }
    others.wait()

    try database.write { transaction in
      _ = try transaction.table("rows").insert([.text("from somewhere else")])
    }
    for semaphore in [mine, mine, others] { semaphore.wait() }
    list.stop()
    other.stop()
    try database.close()
  }

  static func describe(_ who: String, _ change: ResultsChange<Results>) {
    switch change {
    case .initial(let rows): print("\(who): \((try? rows.count) ?? 0) rows at first")
    case .update(_, let changes): print("\(who): told of insertions at \(changes.insertions)")
    case .deleted: print("\(who): the table is gone")
    case .failed(let error): print("\(who): \(error)")
    }
  }
}
