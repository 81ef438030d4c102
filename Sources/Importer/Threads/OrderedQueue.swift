import Base
import Engine

/// The bounded queue between the reader, the parser threads and the writer.
///
/// Chunks are added in order; parsers take them in any order and return results; the writer receives the
/// results in the order of the chunks. At most `window` chunks are between `put` and `next`, or eight times
/// as many if they are small, with at most `byteLimit` bytes together unless there is only one: the reader
/// waits for the writer (back-pressure), so memory is bounded whatever the size of the input and its records.
///
/// Thread rule: any thread; one reader, any number of parsers, one writer.
final class OrderedQueue<Input: Sendable, Output: Sendable>: @unchecked Sendable {
  // @unchecked: `lock` guards everything.
  private let lock: Lock
  /// The conditions that the reader, the parsers and the writer wait for: each is woken only when it can
  /// continue.
  private let roomIsFree: Lock.Condition
  private let inputWaits: Lock.Condition
  private let resultIsNext: Lock.Condition
  private let window: Int
  private let byteLimit: Int
  /// More chunks than `window` have at most this many bytes together.
  private let smallBytes: Int
  /// The sizes of the inputs between `put` and `next`, in their order, and their sum.
  private var sizes: [Int] = []
  private var bytes = 0
  private var waiting: [(index: Int, input: Input)] = []
  private var results: [Int: Result<Output, any Error>] = [:]
  private var putCount = 0
  private var nextIndex = 0
  private var inputHasEnded = false
  private var failure: (any Error)?
  private var isStopped = false

  /// How many times as many small chunks there may be.
  private static var small: Int { 8 }

  /// - Parameter smallSize: the average size of chunks up to which there may be more than `window`; 0: never.
  init(window: Int, byteLimit: Int = .max, smallSize: Int = 0) {
    lock = Lock()
    roomIsFree = Lock.Condition(lock)
    inputWaits = Lock.Condition(lock)
    resultIsNext = Lock.Condition(lock)
    self.window = max(1, window)
    self.byteLimit = byteLimit
    let (bytes, isTooLarge) = self.window.multipliedReportingOverflow(by: smallSize)
    smallBytes = isTooLarge ? byteLimit : min(byteLimit, bytes)
  }

  /// True when results are no longer taken.
  var hasStopped: Bool { lock.withLock { isStopped } }

  /// Adds an input. While the window is full, the reader parses, and waits only when there is nothing to
  /// parse.
  ///
  /// - Parameters:
  ///   - size: the input's size in bytes.
  ///   - help: parses an input that waits for a parser.
  /// - Returns: false when the queue was stopped; the reader should then end.
  func put(
    _ input: Input, size: Int = 0, help: (Input) -> Result<Output, any Error>
  ) -> Bool {
    while true {
      var work: (index: Int, input: Input)?
      let isDone: Bool? = lock.withLock {
        while true {
          if isStopped { return false }
          if hasRoom(for: size) {
            waiting.append((putCount, input))
            sizes.append(size)
            bytes += size
            putCount += 1
            return true
          }
          if !waiting.isEmpty {
            work = waiting.removeFirst()
            return nil
          }
          roomIsFree.wait()
        }
      }
      if let isDone {
        if isDone { inputWaits.wakeOne() }
        return isDone
      }
      if let work { deliver(work.index, help(work.input)) }
    }
  }

  /// Requires the lock.
  private func hasRoom(for size: Int) -> Bool {
    let count = putCount - nextIndex
    if count == 0 { return true }
    if count < window { return size <= byteLimit - bytes }
    return count / Self.small < window && size <= smallBytes - bytes && smallBytes > 0
  }

  /// True when there is room for several chunks: the reader is not woken for each, nor so late that the
  /// writer has nothing to do until it has cut more. Requires the lock.
  private var hasMuchRoom: Bool {
    let count = putCount - nextIndex
    if count <= window - window / 4 { return true }
    return count / Self.small < window - window / 4 && bytes <= smallBytes - smallBytes / 4
  }

  /// Marks the end of the inputs, reached or caused by a failure. A failure reaches the writer after
  /// everything that was put before it.
  func end(_ failure: (any Error)? = nil) {
    lock.withLock {
      inputHasEnded = true
      self.failure = failure
      inputWaits.wakeAll()
      resultIsNext.wakeAll()
    }
  }

  /// The next input for a parser; nil when there are no more.
  func take() -> (index: Int, input: Input)? {
    lock.withLock {
      while true {
        if isStopped { return nil }
        if !waiting.isEmpty { return waiting.removeFirst() }
        if inputHasEnded { return nil }
        inputWaits.wait()
      }
    }
  }

  /// Returns the result of an input to the queue.
  func deliver(_ index: Int, _ result: Result<Output, any Error>) {
    let isNext = lock.withLock {
      results[index] = result
      return index == nextIndex
    }
    if isNext { resultIsNext.wakeAll() }
  }

  /// The next result in order; nil after the last.
  ///
  /// - Throws: the failure of a parser or the reader, at its place in the order.
  func next() throws -> Output? {
    var isRoomy = false
    defer { if isRoomy { roomIsFree.wakeAll() } }
    return try lock.withLock {
      while true {
        if isStopped { return nil }
        if let result = results.removeValue(forKey: nextIndex) {
          nextIndex += 1
          bytes -= sizes.removeFirst()
          isRoomy = hasMuchRoom
          return try result.get()
        }
        if inputHasEnded && nextIndex == putCount {
          if let failure { throw failure }
          return nil
        }
        resultIsNext.wait()
      }
    }
  }

  /// Waits until `next` would not wait.
  ///
  /// - Parameter deadline: a time of `System.monotonicNanoseconds`.
  /// - Returns: false when the deadline came first.
  func isReady(by deadline: UInt64) -> Bool {
    lock.withLock {
      while !isStopped, results[nextIndex] == nil, !(inputHasEnded && nextIndex == putCount) {
        let now = System.monotonicNanoseconds
        if now >= deadline { return false }
        resultIsNext.wait(milliseconds: Int(clamping: (deadline - now) / 1_000_000) + 1)
      }
      return true
    }
  }

  /// Ends everything: waiting threads return, later calls have no effect.
  func stop() {
    lock.withLock {
      isStopped = true
      waiting.removeAll()
      results.removeAll()
      roomIsFree.wakeAll()
      inputWaits.wakeAll()
      resultIsNext.wakeAll()
    }
  }
}
