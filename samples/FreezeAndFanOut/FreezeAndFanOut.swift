// Freezes results and lets several threads compute on parts of them.
//
//     swift run FreezeAndFanOut [DATABASE [CSV]]
//
// Frozen results are Sendable and never change, so the threads need no locks and agree on every
// position, whatever is written meanwhile.

import Dispatch
import Engine
import Importer
import StorySupport
import Synchronization

@main
enum FreezeAndFanOut {
  static let reviews = Atomic<Int>(0)
  static let failures = Atomic<Int>(0)

  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    var options = ImportOptions(
      inputs: [Story.argument(2) ?? "samples/googleplaystore.csv"], database: path)
    options.table = "apps"
    _ = try Importer.run(options)

    let database = try Database.open(path)
    let session = try database.session()
    let games = try session.objects("apps").filter("Category == 'GAME'")
    let expected = try games.aggregates(.sum("Reviews"))[0]
    let frozen = try games.freeze()
    print("frozen: \(try frozen.count) games")

    // The live results follow; the frozen ones stay.
    try session.write { _ in try session.deleteAll() }
    print("deleted: \(try games.count) live, \(try frozen.count) frozen")

    let parts = 4
    let count = try frozen.count
    DispatchQueue.concurrentPerform(iterations: parts) { part in
      let positions = count * part / parts..<count * (part + 1) / parts
      do {
        let sum = try positions.reduce(0) { sum, position in
          guard case .int(let number) = try frozen[position]["Reviews"] else { return sum }
          return sum + Int(number)
        }
        reviews.add(sum, ordering: .relaxed)
      } catch {
        print("part \(part): \(error)")
        failures.add(1, ordering: .relaxed)
      }
    }
    let sum = reviews.load(ordering: .relaxed)
    print("\(parts) threads counted \(sum) reviews; one query counts \(Story.text(expected))")

    // A frozen object leads back to the live one, if it is there still.
    let first = try frozen[0]
    let live = try first.thaw(in: session)
    print("the first game is \(live == nil ? "gone" : "there"); its frozen copy can be read still")
    print("\(failures.load(ordering: .relaxed)) parts failed")
    try database.close()
  }
}
