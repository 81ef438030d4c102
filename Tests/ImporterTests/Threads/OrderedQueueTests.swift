import Base
import Engine
import Testing

@testable import Importer

/// I8: for any input the number of chunks between reader and writer is bounded, and they arrive in
/// order.
@Suite struct OrderedQueueTests {
  /// The most chunks that were in the queue at once.
  private final class Gauge: @unchecked Sendable {
    private let lock = Lock()
    private var present = 0
    private var most = 0

    func enter() {
      lock.withLock {
        present += 1
        most = max(most, present)
      }
    }
    func leave() { lock.withLock { present -= 1 } }
    var highest: Int { lock.withLock { most } }
  }

  @Test(
    "Results come in order, and never are more chunks under way than the window allows",
    arguments: [(1, 1), (1, 8), (3, 2), (4, 1)])
  func neverMoreThanTheWindow(parsers: Int, spare: Int) throws {
    let window = parsers + spare
    let queue = OrderedQueue<Int, Int>(window: window)
    let gauge = Gauge()
    var threads: [Thread] = []
    threads.append(
      try Thread(name: "reader") {
        for number in 0..<400 where queue.put(number, help: { .success($0) }) { gauge.enter() }
        queue.end()
      })
    for parser in 0..<parsers {
      threads.append(
        try Thread(name: "parser") {
          while let (index, number) = queue.take() {
            // Results come back in another order than their chunks were taken.
            if (number &+ parser) % 7 == 0 { System.sleep(milliseconds: 1) }
            queue.deliver(index, .success(number))
          }
        })
    }
    for expected in 0..<400 {
      // With a slow writer the others reach the limit again and again.
      if expected % 40 == 0 { System.sleep(milliseconds: 3) }
      #expect(try queue.next() == expected)
      gauge.leave()
    }
    #expect(try queue.next() == nil)
    for thread in threads { thread.join() }
    // The writer has one more until it is done with it.
    #expect(gauge.highest <= window + 1)
    #expect(gauge.highest >= min(window, 2), "the limit was never come near")
  }

  @Test("More small chunks than the window may wait, as far as their bytes allow")
  func smallChunks() throws {
    // What is put without a parser, until there is no room; the reader parses nothing meanwhile.
    func most(size: Int, window: Int, byteLimit: Int, smallSize: Int) throws -> Int {
      let queue = OrderedQueue<Int, Int>(
        window: window, byteLimit: byteLimit, smallSize: smallSize)
      var helped = 0
      for number in 0..<1000 where helped == 0 {
        _ = queue.put(number, size: size) {
          helped += 1
          // Room for the one that waits.
          queue.stop()
          return .success($0)
        }
        if helped > 0 { return number }
      }
      return 1000
    }
    #expect(try most(size: 10, window: 4, byteLimit: .max, smallSize: 0) == 4)
    #expect(try most(size: 10, window: 4, byteLimit: .max, smallSize: 20) == 8)
    #expect(try most(size: 1, window: 4, byteLimit: .max, smallSize: 20) == 32)
    #expect(try most(size: 0, window: 4, byteLimit: .max, smallSize: 0) == 4)
    #expect(try most(size: 30, window: 4, byteLimit: .max, smallSize: 20) == 4)
    #expect(try most(size: 10, window: 4, byteLimit: 50, smallSize: 20) == 5)
    #expect(try most(size: 10, window: 4, byteLimit: .max, smallSize: .max) == 32)
  }

  @Test("A reader of small chunks goes on when there is room for a quarter of them")
  func smallChunksAgain() throws {
    let queue = OrderedQueue<Int, Int>(window: 4, smallSize: 20)
    let gauge = Gauge()
    let reader = try Thread(name: "reader") {
      for number in 0..<50
      where queue.put(number, size: 1, help: { .success($0) }) { gauge.enter() }
      queue.end()
    }
    func wait(for put: Int) {
      var patience = 2000
      while gauge.highest < put, patience > 0 {
        System.sleep(milliseconds: 1)
        patience -= 1
      }
      #expect(gauge.highest == put)
    }
    // The reader parses all of them when there is no more room, and waits.
    wait(for: 32)
    for expected in 0..<9 { #expect(try queue.next() == expected) }
    wait(for: 41)
    let parser = try Thread(name: "parser") {
      while let (index, number) = queue.take() { queue.deliver(index, .success(number)) }
    }
    for expected in 9..<50 { #expect(try queue.next() == expected) }
    #expect(try queue.next() == nil)
    reader.join()
    parser.join()
  }

  @Test(
    "Few chunks of short records that become long rows may wait, whatever their bytes",
    arguments: [(3, .reject, true), (16, .pad, true), (17, .pad, false), (3, .extend, false)]
      as [(Int, ImportOptions.Ragged, Bool)])
  func longRows(columns: Int, ragged: ImportOptions.Ragged, maybeMany: Bool) throws {
    var options = ImportOptions(inputs: ["a.csv"], database: "")
    options.ragged = ragged
    (options.delimiter, options.quote, options.header) = (",", 0x22, .firstRecord)
    func line(_ letter: String) -> String {
      (0..<columns).map { letter + "\($0)" }.joined(separator: ",") + "\n"
    }
    let opened = try InputPlanner(options: options, path: "a.csv").open(
      MemorySource(Array((line("c") + line("v")).utf8)))
    let match = try TableMatch(opened, options, table: nil)
    let plan = ImportPlan(InputFile(table: "a.csv", in: nil), opened, match, options, encodes: true)
    #expect((Pipeline.smallChunkBytes(plan) > 0) == maybeMany)
  }

  @Test("Whether the next result is there, for a while: a result, the end and a stop are")
  func readiness() throws {
    let queue = OrderedQueue<Int, Int>(window: 4)
    #expect(!queue.isReady(by: 0))
    for number in 0..<2 { #expect(queue.put(number, help: { .success($0) })) }
    #expect(!queue.isReady(by: System.monotonicNanoseconds + 2_000_000))
    let (first, _) = try #require(queue.take())
    let (second, _) = try #require(queue.take())
    queue.deliver(second, .success(second))
    #expect(!queue.isReady(by: 0), "the results before it are missing")
    let parser = try Thread(name: "parser") {
      System.sleep(milliseconds: 2)
      queue.deliver(first, .success(first))
    }
    #expect(queue.isReady(by: .max))
    parser.join()
    #expect(try queue.next() == first && queue.next() == second)
    #expect(!queue.isReady(by: 0))
    queue.end()
    #expect(queue.isReady(by: 0))
    #expect(try queue.next() == nil)
    let stopped = OrderedQueue<Int, Int>(window: 4)
    stopped.stop()
    #expect(stopped.isReady(by: 0))
  }

  @Test("Inputs wait for room by their bytes; one that is too large goes alone")
  func neverMoreBytesThanTheLimit() throws {
    let queue = OrderedQueue<Int, Int>(window: 100, byteLimit: 20)
    let gauge = Gauge()
    let sizes = [10, 10, 10, 10, 50, 1, 1]
    let reader = try Thread(name: "reader") {
      // Without parsers a reader that finds no room does their work.
      for size in sizes where queue.put(size, size: size, help: { .success($0) }) { gauge.enter() }
      queue.end()
    }
    func expect(_ taken: Int) {
      var patience = 2000
      while gauge.highest < taken, patience > 0 {
        System.sleep(milliseconds: 1)
        patience -= 1
      }
      System.sleep(milliseconds: 5)
      #expect(gauge.highest == taken)
    }
    expect(2)
    #expect(try queue.next() == 10)
    // One leaves and one comes: the second makes room for the fourth.
    expect(3)
    #expect(try queue.next() == 10)
    expect(4)
    // 50 does not fit beside 10, and nothing fits beside 50.
    #expect(try queue.next() == 10)
    expect(4)
    #expect(try queue.next() == 10)
    expect(5)
    // Only the consumer itself is left to parse the last two.
    let parser = try Thread(name: "parser") {
      while let (index, size) = queue.take() { queue.deliver(index, .success(size)) }
    }
    #expect(try queue.next() == 50)
    expect(7)
    #expect(try queue.next() == 1)
    #expect(try queue.next() == 1)
    #expect(try queue.next() == nil)
    reader.join()
    parser.join()
  }

  @Test("A failure is thrown only after everything that was put before it")
  func aFailureComesBehindWhatWasPutBefore() throws {
    struct Failed: Error {}
    let queue = OrderedQueue<Int, Int>(window: 4)
    for number in 0..<2 { #expect(queue.put(number, help: { .success($0) })) }
    queue.end(Failed())
    // The failure is known long before the chunks in front of it are consumed.
    let parser = try Thread(name: "parser") {
      System.sleep(milliseconds: 20)
      while let (index, number) = queue.take() { queue.deliver(index, .success(number)) }
    }
    #expect(try queue.next() == 0)
    #expect(try queue.next() == 1)
    #expect(throws: Failed.self) { try queue.next() }
    parser.join()
  }

  @Test("Stopping the queue ends a reader that waits for room")
  func stoppingEndsAReaderThatWaits() throws {
    let queue = OrderedQueue<Int, Int>(window: 2)
    let reader = try Thread(name: "reader") {
      var number = 0
      while queue.put(number, help: { .success($0) }) { number += 1 }
    }
    #expect(try queue.next() == 0)
    queue.stop()
    reader.join()
    #expect(try queue.next() == nil)
  }
}
