import Base
import Engine

/// The reader's and parsers' threads of an import, or the threads of an export. They start when the first
/// input needs them and are kept for later inputs, so that ten thousand small files do not start threads ten
/// thousand times.
///
/// Thread rule: only the writer's thread.
final class PipelineThreads {
  private let team = Team()
  private var threads: [Thread] = []

  deinit {
    team.dismiss()
    for thread in threads { thread.join() }
  }

  /// Starts missing threads, as `run` does.
  ///
  /// - Throws: `SystemError` when the system cannot start another thread.
  func start(_ count: Int) throws {
    while threads.count < count {
      let (number, team) = (threads.count, team)
      threads.append(
        try Thread(name: number == 0 ? "sheaf-reader" : "sheaf-parser", stackBytes: 4 << 20) {
          team.serve(number)
        })
    }
  }

  /// Runs `work` on `count` threads at once, each with its number from 0, and `meanwhile` on the calling
  /// thread.
  ///
  /// Returns when all have returned; `meanwhile` must let the threads end, also when it throws.
  ///
  /// - Throws: the errors of `meanwhile`; `SystemError` when the system cannot start another thread, before
  ///   anything has run.
  func run(
    _ count: Int, _ work: @escaping @Sendable (Int) -> Void, meanwhile: () throws -> Void
  ) throws {
    try start(count)
    team.begin(count, work)
    defer { team.awaitEnd() }
    try meanwhile()
  }
}

/// The state that the threads share with the one that gives them work.
///
/// Thread rule: any thread.
private final class Team: @unchecked Sendable {
  // @unchecked: `lock` guards everything.
  private let lock = Lock()
  private var work: (@Sendable (Int) -> Void)?
  /// The number of pieces of work given out; a thread does each at most once.
  private var round = 0
  /// Threads with numbers below this take part in the work.
  private var width = 0
  private var working = 0
  private var isDismissed = false

  func begin(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
    lock.withLock {
      self.work = work
      round += 1
      width = count
      working = count
      lock.wakeAll()
    }
  }

  func awaitEnd() {
    lock.withLock {
      while working > 0 { lock.wait() }
      work = nil
    }
  }

  func dismiss() {
    lock.withLock {
      isDismissed = true
      lock.wakeAll()
    }
  }

  /// The loop of a thread.
  func serve(_ number: Int) {
    var done = 0
    while let work = next(number, after: &done) {
      work(number)
      lock.withLock {
        working -= 1
        if working == 0 { lock.wakeAll() }
      }
    }
  }

  /// Waits for the next work; nil when there will be none.
  private func next(_ number: Int, after done: inout Int) -> (@Sendable (Int) -> Void)? {
    lock.withLock {
      while true {
        if isDismissed { return nil }
        if round > done {
          done = round
          if number < width, let work { return work }
        }
        lock.wait()
      }
    }
  }
}
