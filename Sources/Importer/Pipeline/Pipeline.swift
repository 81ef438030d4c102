import Engine

/// Reader thread → parser threads → bounded queue → the calling thread, the import's only writer, for one
/// input. With many parsers, additional threads read ahead of the reader (`ReadAhead`).
///
/// Thread rule: `run` is called on the writer's thread; it returns when the other threads have finished the
/// input. One thread writes all inputs, so that a transaction may continue from one to the next.
enum Pipeline {
  /// The maximum bytes of input between the reader and the writer. Chunks of short records never reach it; of
  /// long ones, twelve took 30 MB more memory and no less time with one or two parsers.
  static func bytesInFlight(parsers: Int) -> Int { max(4 << 20, parsers * (3 << 19)) }

  /// More chunks of up to this size may wait: handing one over takes as long as parsing some kilobytes.
  ///
  /// None of short records that become long rows: what waits for the writer has eight bytes for each field,
  /// also for those that were added.
  static func smallChunkBytes(_ plan: ImportPlan) -> Int {
    plan.ragged != .extend && plan.fieldCount <= 16 ? 32 << 10 : 0
  }

  /// The number of threads that read ahead and scan. One thread that does everything keeps up with about five
  /// parsers, and takes a tenth less processor time. A scan takes less than a quarter of a parser's time, for
  /// any input.
  static func readers(parsers: Int) -> Int { parsers < 6 ? 0 : max(2, parsers / 4) }

  /// - Parameters:
  ///   - keys: the version of the table in which parsers look up their rows; nil: they do not.
  ///   - isSmall: whether the input is a chunk or two, which one thread cuts and parses.
  ///   - times: receives the times of reading and writing, except for a small input, where measuring would
  ///     take longer.
  /// - Throws: the error of the reader, a parser or the writer; earlier batches stay committed.
  static func run(
    _ splitter: RecordSplitter, _ plan: ImportPlan, _ options: ImportOptions,
    keys: SharedKeyView?, isSmall: Bool, writer: BatchWriter, threads: PipelineThreads,
    times: SerialTimes
  ) throws {
    // A version held only for the parsers keeps pages of the file from reuse.
    defer { keys?.view = nil }
    let work = Work(splitter, plan, options, isSmall: isSmall, threads, times)
    try run(work) { [conflict = options.conflictRule] in
      let builder = ColumnBatchBuilder(plan, scout: keys.map { RowScout($0, conflict) })
      return { try builder.build($0) }
    } writing: { queue in
      try writer.run(queue)
    }
  }

  /// An input, and the threads that work on it.
  struct Work {
    let splitter: RecordSplitter
    let plan: ImportPlan
    let options: ImportOptions
    let isSmall: Bool
    let threads: PipelineThreads
    let times: SerialTimes

    init(
      _ splitter: RecordSplitter, _ plan: ImportPlan, _ options: ImportOptions, isSmall: Bool,
      _ threads: PipelineThreads, _ times: SerialTimes
    ) {
      self.splitter = splitter
      self.plan = plan
      self.options = options
      self.isSmall = isSmall
      self.threads = threads
      self.times = times
    }
  }

  /// Runs the pipeline with any kind of result for the chunks.
  ///
  /// - Parameters:
  ///   - parser: called once on each parser's thread; returns the function that makes results there.
  ///   - writing: called on the calling thread, with the queue of results.
  static func run<Output: Sendable>(
    _ work: Work, parser: @escaping @Sendable () -> (Chunk) throws -> Output,
    writing: (OrderedQueue<Chunk, Output>) throws -> Void
  ) throws {
    let (splitter, plan, options) = (work.splitter, work.plan, work.options)
    let (isSmall, times) = (work.isSmall, work.times)
    let queue = OrderedQueue<Chunk, Output>(
      window: options.parsers + options.queue, byteLimit: bytesInFlight(parsers: options.parsers),
      smallSize: smallChunkBytes(plan))
    // A pipe without further bytes must not prevent a failed import from ending.
    splitter.stopsWaiting { queue.hasStopped }
    let parsers = isSmall ? 0 : max(1, options.parsers)
    let ahead = try splitter.readAhead(
      threads: isSmall ? 0 : options.readers ?? readers(parsers: parsers))
    try work.threads.run(1 + parsers + (ahead?.threads ?? 0)) { number in
      if number > parsers {
        ahead?.serve()
      } else if number > 0 {
        parse(queue, parser())
      } else {
        read(
          splitter, plan, options, parser(), into: queue, parses: parsers == 0,
          times: isSmall ? nil : times)
        splitter.stopReadingAhead()
      }
    } meanwhile: {
      // Threads that have finished do not need it; those of an import that ends early wait for it.
      defer { queue.stop() }
      let stretch = isSmall ? nil : SerialTimes.Stretch()
      defer { if let stretch { times.addWriter(stretch) } }
      try writing(queue)
    }
  }

  /// The reader thread: cuts chunks so that every batch ends with one, and parses when it is ahead.
  ///
  /// - Parameter parses: true when there are no parser threads.
  private static func read<Output: Sendable>(
    _ splitter: RecordSplitter, _ plan: ImportPlan, _ options: ImportOptions,
    _ build: @escaping (Chunk) throws -> Output, into queue: OrderedQueue<Chunk, Output>,
    parses: Bool,
    times: SerialTimes?
  ) {
    let most = mostRecords(plan)
    var stretch = times.map { _ in SerialTimes.Stretch() }
    defer { if let times, let stretch { times.addReader(stretch) } }
    func help(_ input: Chunk) -> Result<Output, any Error> {
      let parse = { Result { try build(input) } }
      return stretch?.share(parse) ?? parse()
    }
    do {
      while let chunk = try chunk(splitter, plan, options, most: most),
        queue.put(chunk, size: chunk.byteCount, help: help)
      {
        if parses, let (index, chunk) = queue.take() {
          queue.deliver(index, Result { try build(chunk) })
        }
      }
      queue.end()
    } catch {
      queue.end(error)
    }
  }

  /// The next chunk; nil at the end, or when the wanted number of records or bytes has been read.
  private static func chunk(
    _ splitter: RecordSplitter, _ plan: ImportPlan, _ options: ImportOptions, most: Int
  ) throws -> Chunk? {
    let done = splitter.nextRecord - 1
    var wanted = chunkRecords(done, plan, most: most)
    if let bytes = options.byteLimit, done > 0, splitter.byteOffset >= bytes { return nil }
    if let limit = options.limit {
      if done >= limit { return nil }
      wanted = min(wanted, limit - done)
    }
    return try splitter.next(recordLimit: wanted)
  }

  /// The maximum number of records in a chunk.
  private static func mostRecords(_ plan: ImportPlan) -> Int {
    min(
      ImportOptions.clusterRecords,
      RecordSplitter.maximumRecords(columnCount: plan.columns.count))
  }

  /// The number of records in the next chunk, so that chunks are even and the batch ends with one.
  private static func chunkRecords(_ done: Int, _ plan: ImportPlan, most: Int) -> Int {
    guard let size = plan.batchRecords else { return most }
    // Small batches share a chunk, which the writer divides.
    guard plan.encodes else { return max(1, most / size * size) }
    let left = size - done % size
    // Rounded up without adding first, since a batch size may be the largest integer.
    let pieces = (left - 1) / most + 1
    return (left - 1) / pieces + 1
  }

  /// The loop of a parser thread.
  private static func parse<Output: Sendable>(
    _ queue: OrderedQueue<Chunk, Output>, _ build: (Chunk) throws -> Output
  ) {
    while let (index, chunk) = queue.take() {
      queue.deliver(index, Result { try build(chunk) })
    }
  }
}
