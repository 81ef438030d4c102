/// Threads that each have a `ClusterMerger`, for work on a few clusters at a time.
///
/// Thread rule: confined to the thread that calls `map`.
final class MergingTeam {
  private let mergers: [ClusterMerger]

  init(size: Int) { mergers = (0..<max(1, size)).map { _ in ClusterMerger() } }

  var size: Int { mergers.count }

  /// Calls `work` for each item, on as many threads as the team has, and returns the results in order.
  /// A thread that is done with an item takes the next, so that long ones should come first. Where the system has no
  /// room for a thread, those that there are do its work.
  ///
  /// - Throws: what `work` threw for the first item that failed.
  func map<Item: Sendable, Output: Sendable>(
    _ items: [Item],
    _ work: @escaping @Sendable (Item, ClusterMerger) throws -> Output
  ) throws -> [Output] {
    let list = WorkList<Item, Output>(items)
    var threads: [Thread] = []
    defer { for thread in threads { thread.join() } }
    for merger in mergers.dropFirst().prefix(max(0, items.count - 1)) {
      let hand = Hand(merger)
      guard
        let thread = try? Thread(name: "compaction", { list.run { try work($0, hand.merger) } })
      else { break }
      threads.append(thread)
    }
    list.run { try work($0, mergers[0]) }
    for thread in threads { thread.join() }
    threads = []
    return try list.results()
  }
}

/// Carries a merger to the thread that uses it.
private final class Hand: @unchecked Sendable {
  // @unchecked: used by one thread until that has been joined, and by the team's thread afterwards.
  let merger: ClusterMerger
  init(_ merger: ClusterMerger) { self.merger = merger }
}

/// Items that several threads take one after the other, and what came of each.
private final class WorkList<Item: Sendable, Output: Sendable>: @unchecked Sendable {
  // @unchecked: `next` and `outcomes` are guarded by `lock`.
  private let items: [Item]
  private let lock = Lock()
  private var next = 0
  private var outcomes: [Result<Output, any Error>?]

  init(_ items: [Item]) {
    self.items = items
    outcomes = items.map { _ in nil }
  }

  /// Works until nothing is left, or something has failed.
  func run(_ work: (Item) throws -> Output) {
    while let index = take() {
      let outcome = Result { try work(items[index]) }
      lock.withLock {
        outcomes[index] = outcome
        if case .failure = outcome { next = items.count }
      }
    }
  }

  private func take() -> Int? {
    lock.withLock {
      guard next < items.count else { return nil }
      next += 1
      return next - 1
    }
  }

  /// To be called when all threads are done.
  func results() throws -> [Output] {
    try lock.withLock {
      if let failed = outcomes.first(where: { $0?.isFailure == true }) ?? nil {
        _ = try failed.get()
      }
      return try outcomes.compactMap { try $0?.get() }
    }
  }
}

extension Result {
  fileprivate var isFailure: Bool {
    if case .failure = self { return true }
    return false
  }
}

extension BlockReader {
  /// Tells the system that a leaf's pages will not be read again soon, so that a long read of a
  /// large file does not count as this process's memory.
  func forget(_ entry: NodeEntry, end: UInt64) {
    var references = [entry.reference]
    if entry.reference.isOverlay, let overlay = try? overlay(entry, end: end) {
      references = overlay.references + [overlay.base.reference]
    }
    for reference in references {
      if let bytes = storage.view(
        at: Int(clamping: reference.offset), count: Int(reference.length))
      {
        storage.forget(bytes)
      }
    }
  }
}
