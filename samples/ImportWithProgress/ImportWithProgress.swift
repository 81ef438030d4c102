// Imports a CSV file in the background, while the main thread goes on reading the same database.
//
//     swift run ImportWithProgress [DATABASE [CSV]]
//
// Readers never wait: each read below takes a snapshot of the newest committed version, whatever the
// import is doing at that moment.

import Dispatch
import Engine
import Importer
import StorySupport
import Synchronization

@main
enum ImportWithProgress {
  /// Records read so far: written on the importer's thread, read on the main one.
  static let progress = Atomic<Int>(0)
  /// How the import ended; nil while it is running.
  static let outcome = Mutex<Result<ImportReport, any Error>?>(nil)

  static func main() { Story.run(tell) }

  static func tell(path: String) throws {
    let database = try Database.open(path)
    var options = ImportOptions(
      inputs: [Story.argument(2) ?? "samples/googleplaystore.csv"], database: path)
    options.table = "apps"
    options.batchSize = .records(1000)  // a transaction each: readers see 1,000 more at a time
    options.progress = { progress.store($0.records, ordering: .relaxed) }

    DispatchQueue(label: "import").async { [options] in
      let result = Result { try Importer.run(options) }
      outcome.withLock { $0 = result }
    }

    var (reads, told) = (0, 0)
    var slowest = Duration.zero
    while outcome.withLock({ $0 == nil }) {
      let time = try ContinuousClock().measure { try readSomething(database) }
      slowest = max(slowest, time)
      reads += 1
      let records = progress.load(ordering: .relaxed)
      if records >= told + 10_000 {
        told = records
        print("\(records) records so far; read \(reads) times meanwhile")
      }
    }
    guard let report = try outcome.withLock({ $0 })?.get() else { return }
    print("imported \(report.imported) objects in \(report.batches) transactions")
    print("the main thread read \(reads) times meanwhile; the slowest took \(slowest)")
    print("it sees \(try database.snapshot().table("apps").count) objects now")
    try database.close()
  }

  /// The object in the middle of what is there just now.
  static func readSomething(_ database: Database) throws {
    try database.read { snapshot in
      guard snapshot.tableNames.contains("apps") else { return }  // before the first batch
      let apps = try snapshot.table("apps")
      _ = try apps.row(at: apps.count / 2)
    }
  }
}
