import Engine

/// Reader thread → parser threads → bounded queue → one writer thread, for one input.
///
/// Thread rule: `run` may be called on any thread; it returns when all of its threads have ended.
enum Pipeline {
  /// Input between the reader and the writer at most. Chunks of short records never reach it; of long
  /// ones, twelve took 30 MB more memory and no less time.
  private static let bytesInFlight = 4 << 20

  /// - Throws: what the reader, a parser or the writer failed with; what was committed before stays.
  static func run(
    _ splitter: RecordSplitter, _ plan: ImportPlan, _ options: ImportOptions,
    writer: BatchWriter
  ) throws {
    let queue = OrderedQueue<Chunk, ColumnBatch>(
      window: options.parsers + options.queue, byteLimit: bytesInFlight)
    // A pipe that gives no more must not keep an import from ending that has failed.
    splitter.stopsWaiting { queue.hasStopped }
    var threads: [Thread] = []
    let outcome = Outcome(writer)
    do {
      threads.append(
        try Thread(name: "sheaf-reader", stackBytes: 4 << 20) {
          read(splitter, plan, options.limit, into: queue)
        })
      for _ in 0..<max(1, options.parsers) {
        threads.append(
          try Thread(name: "sheaf-parser", stackBytes: 4 << 20) { parse(queue, plan) })
      }
      threads.append(try Thread(name: "sheaf-writer", stackBytes: 4 << 20) { outcome.run(queue) })
    } catch {
      queue.stop()
      for thread in threads { thread.join() }
      throw error
    }
    for thread in threads { thread.join() }
    if let failure = outcome.failure { throw failure }
  }

  /// The writer and what became of it: handed to the writer's thread, looked at after it has ended.
  private final class Outcome: @unchecked Sendable {
    // @unchecked: one thread at a time, ordered by the thread's start and `join`.
    private let writer: BatchWriter
    private(set) var failure: (any Error)?

    init(_ writer: BatchWriter) { self.writer = writer }

    func run(_ queue: OrderedQueue<Chunk, ColumnBatch>) {
      do { try writer.run(queue) } catch { failure = error }
    }
  }

  /// The reader thread: cuts chunks so that every batch ends with one, and parses when it is ahead.
  private static func read(
    _ splitter: RecordSplitter, _ plan: ImportPlan, _ limit: Int?,
    into queue: OrderedQueue<Chunk, ColumnBatch>
  ) {
    let most = min(
      ImportOptions.clusterRecords,
      RecordSplitter.maximumRecords(columnCount: plan.columns.count))
    let builder = ColumnBatchBuilder(plan)
    do {
      while true {
        let done = splitter.nextRecord - 1
        var wanted = chunkRecords(done, plan, most: most)
        if let limit {
          if done >= limit { break }
          wanted = min(wanted, limit - done)
        }
        guard let chunk = try splitter.next(recordLimit: wanted),
          queue.put(
            chunk, size: chunk.byteCount, help: { input in Result { try builder.build(input) } })
        else { break }
      }
      queue.end()
    } catch {
      queue.end(error)
    }
  }

  /// Records of the next chunk, so that chunks are even and the batch ends with one.
  private static func chunkRecords(_ done: Int, _ plan: ImportPlan, most: Int) -> Int {
    guard let size = plan.batchRecords else { return most }
    // Small batches share a chunk, which the writer takes apart again.
    guard plan.encodes else { return max(1, most / size * size) }
    let left = size - done % size
    // Rounded up without adding first: a batch size may be the largest number there is.
    let pieces = (left - 1) / most + 1
    return (left - 1) / pieces + 1
  }

  /// A parser thread.
  private static func parse(_ queue: OrderedQueue<Chunk, ColumnBatch>, _ plan: ImportPlan) {
    let builder = ColumnBatchBuilder(plan)
    while let (index, chunk) = queue.take() {
      queue.deliver(index, Result { try builder.build(chunk) })
    }
  }
}
