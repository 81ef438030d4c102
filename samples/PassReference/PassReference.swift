// Objects and results belong to their session's thread. A reference carries one to another thread.
//
//     swift run PassReference [DATABASE]
//
// Sending the object itself does not compile; smuggling it past the compiler throws `wrongThread`.

import Engine
import StorySupport

@main
enum PassReference {
  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("apps", columns: [Column("App", .text), Column("Rating", .int)])
      for app in ["Maps", "Notes"] {
        try transaction.table("apps").insert([.text(app), .int(1)])
      }
    }
    let session = try database.session()  // of this thread
    let worker = try SessionThread(database)  // has a session of its own
    let maps = try session.objects("apps")[0]
    let notes = try session.objects("apps")[1]

    // A reference is Sendable. It keeps the version that it was made in until it is resolved.
    let reference = try ThreadSafeReference(to: maps)
    try worker.perform { session in
      guard let maps = try session.resolve(reference) else { return }
      try session.write { _ in try maps.set("Rating", to: .int(5)) }
      print("worker: rated \(Story.text(try maps["App"]))")
    }
    print("main: Rating is still \(Story.text(try maps["Rating"]))")
    try session.refresh()
    print("main: after a refresh it is \(Story.text(try maps["Rating"]))")

    // It can be resolved once. For another use make another.
    do {
      _ = try session.resolve(reference)
    } catch {
      print("main: \(error)")
    }

    // What is deleted before the reference arrives is nil there, not an error and no wrong object.
    let late = try ThreadSafeReference(to: notes)
    try session.write { _ in try notes.delete() }
    try worker.perform { session in
      let notes = try session.resolve(late)
      print("worker: Notes is \(notes == nil ? "gone" : "there")")
    }

    // Results travel the same way, with their filter and order.
    let good = try session.objects("apps").filter("Rating >= 4").sorted(by: .ascending("App"))
    let results = try ThreadSafeReference(to: good)
    try worker.perform { session in
      print("worker: \(try session.resolve(results)?.count ?? 0) good app")
    }
    worker.stop()
    try database.close()
  }
}
