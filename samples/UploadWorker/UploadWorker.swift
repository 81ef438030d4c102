// A thread of its own watches a filter and works off what comes in: the classic upload worker.
//
//     swift run UploadWorker [DATABASE]
//
// The rest of the program only adds objects. Nobody calls the worker: its session refreshes after every
// commit, here or in another process, and its observer is told what is pending now.

import Dispatch
import Engine
import StorySupport

@main
enum UploadWorker {
  static let photos = ["beach.jpg", "cat.jpg", "dinner.jpg", "forest.jpg", "harbour.jpg"]

  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write {
      try $0.createTable("uploads", columns: [Column("Photo", .text), Column("State", .text)])
    }

    let worker = try SessionThread(database)
    try worker.perform { session in
      let pending = try session.objects("uploads").filter("State == 'pending'")
      let token = try pending.observe { change in
        switch change {
        case .initial(let pending), .update(let pending, _): upload(pending)
        case .deleted: print("worker: there are no uploads any more")
        case .failed(let error): print("worker: \(error)")
        }
      }
      try session.keep(token)  // for as long as the session lives
    }

    // Only to know when to end: told on a queue, with frozen results.
    let allDone = DispatchSemaphore(value: 0)
    let session = try database.session()
    let done = try session.objects("uploads").filter("State == 'done'")
    let watcher = try done.observe(on: DispatchQueue(label: "watcher")) { change in
      if case .update(let done, _) = change, (try? done.count) == photos.count { allDone.signal() }
    }

    for photo in photos {
      try database.write { transaction in
        _ = try transaction.table("uploads").insert([.text(photo), .text("pending")])
      }
    }
    allDone.wait()
    watcher.stop()
    worker.stop()
    try session.refresh()
    let pending = try session.objects("uploads").filter("State == 'pending'").count
    print("\(try done.count) uploads are done, \(pending) are pending")
    try database.close()
  }

  /// On the worker's thread. Its own write changes the filter's results, so it is called once more.
  static func upload(_ pending: Results) {
    do {
      for photo in try pending.objects {
        // The slow part, outside any transaction: others may write meanwhile.
        let name = Story.text(try photo["Photo"])
        try pending.session.write { _ in
          // The write has moved on to the newest version: somebody may have deleted the photo.
          if try !photo.isInvalidated { try photo.set("State", to: .text("done")) }
        }
        print("worker: uploaded \(name)")
      }
    } catch {
      print("worker: \(error)")
    }
  }
}
