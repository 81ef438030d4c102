/// Jobs on a few threads, which start when they are needed. Jobs begin in the order in which they were added.
///
/// Thread rule: any thread.
package final class WorkQueue: @unchecked Sendable {
  // @unchecked: `lock` guards all mutable state.
  package typealias Job = @Sendable () -> Void

  private let lock = Lock()
  private let name: String
  private let mostThreads: Int
  /// Nil for a job that has begun.
  private var jobs: [Job?] = []
  /// The index of the first job that has not begun.
  private var first = 0
  private var threads: Set<ExecutionContext> = []
  private var threadCount = 0
  private var idleCount = 0
  private var runningCount = 0
  private var isFinished = false
  private var isStopping = false

  package init(name: String, mostThreads: Int) {
    self.name = name
    self.mostThreads = mostThreads
  }

  /// True when some jobs have not begun.
  package var hasWaiting: Bool { lock.withLock { first < jobs.count } }

  /// Adds a job. Returns false, without adding it, after `finish` or `stop`, or when the system cannot start
  /// a thread.
  package func add(_ job: @escaping Job) -> Bool {
    lock.withLock {
      if isFinished { return false }
      jobs.append(job)
      if idleCount < jobs.count - first, threadCount < mostThreads, !startThread(),
        threadCount == 0
      {
        jobs.removeLast()
        return false
      }
      lock.wakeAll()
      return true
    }
  }

  /// Refuses further jobs, and waits until the added ones have ended. Called by one of the jobs, it runs the
  /// other jobs itself.
  package func finish() {
    lock.lock()
    isFinished = true
    let isOwn = threads.contains(ExecutionContext.thread)
    while first < jobs.count || runningCount > (isOwn ? 1 : 0) {
      if !isOwn || !runNext() { lock.wait() }
    }
    isStopping = true
    lock.wakeAll()
    lock.unlock()
  }

  /// Refuses further jobs, and lets the threads end after the added ones.
  package func stop() {
    lock.withLock {
      isFinished = true
      isStopping = true
      lock.wakeAll()
    }
  }

  /// Runs the next job; returns false when there is none. Requires the lock, which is released while the job
  /// runs.
  private func runNext() -> Bool {
    var job = next()
    if job == nil { return false }
    lock.unlock()
    job?()
    // Released outside the lock: the job's last object may call this queue in its `deinit`, as a database
    // does.
    job = nil
    lock.lock()
    runningCount -= 1
    return true
  }

  /// Takes the next job and counts it as running. Requires the lock. Nothing else refers to the job.
  private func next() -> Job? {
    guard first < jobs.count else { return nil }
    defer {
      jobs[first] = nil
      first += 1
      runningCount += 1
      if first == jobs.count {
        jobs.removeAll(keepingCapacity: jobs.count < 1024)
        first = 0
      } else if first == 1024 {
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }

  /// Requires the lock.
  private func startThread() -> Bool {
    guard let thread = try? Thread(name: name, { self.work() }) else { return false }
    thread.detach()
    threadCount += 1
    return true
  }

  private func work() {
    lock.lock()
    threads.insert(ExecutionContext.thread)
    while true {
      if runNext() {
        lock.wakeAll()
      } else if isStopping {
        break
      } else {
        idleCount += 1
        lock.wait()
        idleCount -= 1
      }
    }
    threads.remove(ExecutionContext.thread)
    threadCount -= 1
    lock.unlock()
  }
}
