import Base
import Foundation
import TestSupport
import Testing

@testable import Engine
@testable import Importer

/// The threads of an import.
@Suite("Pipeline") struct PipelineTests {
  private static func csv(_ count: Int) -> String {
    "id,name\n" + (1...count).map { "\($0),n\($0)\n" }.joined()
  }

  @Test("One thread that is not the caller's writes all inputs, small ones too")
  func oneWriter() throws {
    let folder = try ImportFolder()
    var paths: [String] = []
    for number in 0..<6 {
      let name = "\(number).csv"
      try folder.write(name, Array(Self.csv(number % 2 == 0 ? 3 : 5000).utf8))
      paths.append(folder.path(name))
    }
    let writers = Guarded<Set<ExecutionContext>>([])
    var options = ImportOptions(inputs: paths, database: folder.database)
    options.durability = .none
    options.progress = { _ in _ = writers.withLock { $0.insert(ExecutionContext.thread) } }
    let report = try Importer.run(options)
    #expect(report.imported == 3 * 3 + 3 * 5000)
    let seen = writers.withLock(\.self)
    #expect(seen.count == 1 && !seen.contains(ExecutionContext.thread))
  }

  @Test("Inside a transaction of its caller an import is refused, not waited for for ever")
  func nested() throws {
    let folder = try ImportFolder()
    let database = try Database.open(folder.database)
    try database.write { _ in
      #expect(throws: EngineError.nestedTransaction(path: folder.database)) {
        try folder.importCSV(Self.csv(3))
      }
    }
    try database.close()
    #expect(try folder.importCSV(Self.csv(3)).imported == 3)
  }

  @Test(
    "Many parsers, and the threads that read ahead for them, make the table of one",
    arguments: [1, 7, 1000])
  func manyParsers(batch: Int) throws {
    var odd = OddCSV(seed: UInt64(batch))
    let csv = odd.make(rows: batch == 1 ? 300 : 3000, isMixed: true)
    func change(_ options: inout ImportOptions, _ parsers: Int) {
      options.parsers = parsers
      options.batchSize = .records(batch)
      options.maxRejects = .unlimited
      options.limits = .init(chunkBytes: 20_000)
      (options.limits.strideBytes, options.limits.pieceBytes) = (256, 1024)
    }
    let (one, many) = (try ImportFolder(), try ImportFolder())
    let slow = try one.importCSV(csv) { change(&$0, 1) }
    // Interrupted, and resumed with other numbers of threads.
    let stops = Guarded(0)
    let first = try many.importCSV(csv) {
      change(&$0, 16)
      $0.shouldStop = {
        stops.withLock {
          $0 += 1; return $0 > 200 / batch
        }
      }
    }
    #expect(first.isInterrupted)
    let rest = try many.importCSV(csv) {
      change(&$0, 3)
      $0.readers = 3
      $0.resume = true
    }
    #expect(first.read + rest.read == slow.read)
    #expect(first.bytesRead + rest.bytesRead == slow.bytesRead && rest.bytesRead > 0)
    #expect(first.rejected + rest.rejected == slow.rejected)
    #expect(first.batches + rest.batches == slow.batches)
    #expect(try many.export() == one.export())
    #expect(try many.types() == one.types())
    // One thread resumes from a checkpoint of many, and the other way round.
    for (folder, parsers) in [(one, 16), (many, 1)] {
      let again = try folder.importCSV(csv) {
        change(&$0, parsers)
        $0.resume = true
      }
      #expect(again.isNothingToDo)
    }
    try many.expectSound()
  }

  @Test(
    "No threads, or more than are allowed, are refused",
    arguments: [0, ImportOptions.mostThreads + 1])
  func numberOfThreads(number: Int) throws {
    for option in [\ImportOptions.parsers, \.queue] {
      let folder = try ImportFolder()
      let error = #expect(throws: ImportError.self) {
        try folder.importCSV(Self.csv(3)) { $0[keyPath: option] = number }
      }
      #expect(error.map { "\($0)" }?.contains("must be from 1 to") == true)
      #expect(folder.names() == ["t.csv"])
    }
  }

  @Test("Threads are started once, work side by side, and end with their owner")
  func team() throws {
    let threads = Guarded<Set<ExecutionContext>>([])
    let meeting = Meeting(3)
    do {
      let pipeline = PipelineThreads()
      for round in 1...50 {
        let count = round % 3 + 1
        let done = Guarded(0)
        try pipeline.run(count) { number in
          #expect(number < count)
          _ = threads.withLock { $0.insert(ExecutionContext.thread) }
          // Only threads that run at the same time pass this.
          if count == 3 { meeting.attend() }
          done.withLock { $0 += 1 }
        } meanwhile: {
        }
        #expect(done.withLock(\.self) == count)
      }
      #expect(threads.withLock(\.count) == 3)
      // An error of the calling thread is thrown when the others have ended.
      let ended = Guarded(0)
      #expect(throws: CancellationError.self) {
        try pipeline.run(2) { _ in
          ended.withLock { $0 += 1 }
        } meanwhile: {
          throw CancellationError()
        }
      }
      #expect(ended.withLock(\.self) == 2)
    }
  }
}

/// Holds threads back until all have come.
private final class Meeting: Sendable {
  private let lock = Lock()
  private let size: Int
  private let present = Guarded(0)

  init(_ size: Int) { self.size = size }

  func attend() {
    lock.withLock {
      let count = present.withLock {
        $0 += 1
        return $0
      }
      let goal = (count + size - 1) / size * size
      lock.wakeAll()
      while present.withLock(\.self) < goal { lock.wait() }
    }
  }
}
