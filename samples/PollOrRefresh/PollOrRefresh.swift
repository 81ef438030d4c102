// Three ways to keep up with what others write.
//
//     swift run PollOrRefresh [DATABASE]
//
// A session stays on its version until it moves on: when it is told to, or by itself where something
// runs that can tell it to (a SessionThread, a dispatch queue, the main queue).

import Dispatch
import Engine
import StorySupport

@main
enum PollOrRefresh {
  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write { try $0.createTable("log", columns: [Column("Line", .text)]) }

    // 1. Polling: this thread has no loop, so nothing moves before it asks.
    let session = try database.session()
    let lines = try session.objects("log")
    try add(["one", "two"], to: database)
    print("poll: \(try lines.count) lines before refresh()")
    let hasMoved = try session.refresh()
    print("poll: \(try lines.count) lines after it, moved \(hasMoved)")
    print("poll: nothing new, moved \(try session.refresh())")

    // 2. Observing: the session of a SessionThread moves on by itself, and says what has changed.
    let told = DispatchSemaphore(value: 0)
    let worker = try SessionThread(database)
    try worker.perform { session in
      let token = try session.objects("log").observe { change in
        switch change {
        case .initial(let lines): print("observe: \((try? lines.count) ?? 0) lines at first")
        case .update(_, let changes): print("observe: inserted at \(changes.insertions)")
        case .deleted, .failed: print("observe: the end")
        }
        told.signal()
      }
      try session.keep(token)
    }
    told.wait()
    try add(["three"], to: database)
    told.wait()

    // 3. In between: told that there is something newer, and taking it when it suits.
    try worker.perform { session in
      session.autorefresh = false
      let token = try session.observe { change in
        if case .refreshRequired = change {
          print("later: something is newer")
          told.signal()
        }
      }
      try session.keep(token)
    }
    try add(["four", "five"], to: database)
    told.wait()
    try worker.perform { session in
      let lines = try session.objects("log")
      let before = try lines.count
      try session.refresh()  // delivers to the observer of 2 before it returns
      print("later: \(before) lines, then \(try lines.count)")
    }
    worker.stop()
    try database.close()
  }

  static func add(_ lines: [String], to database: Database) throws {
    try database.write { transaction in
      for line in lines { try transaction.table("log").insert([.text(line)]) }
    }
  }
}
