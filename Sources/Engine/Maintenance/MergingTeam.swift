import Base

/// Threads that each have a `ClusterMerger`, for work on clusters.
///
/// Thread rule: confined to the thread that calls `forEach`.
final class MergingTeam {
  private let mergers: [ClusterMerger]

  init(size: Int) { mergers = (0..<max(1, size)).map { _ in ClusterMerger() } }

  var size: Int { mergers.count }

  /// Calls `work` for each item, on as many threads as the team has, and `consume` with the results, in the
  /// order of the items. A thread that has finished an item takes the next without waiting for the others. If
  /// the system cannot start another thread, the existing ones do its work.
  ///
  /// - Parameters:
  ///   - window: the maximum number of items taken from `next` and not consumed, which bounds memory.
  ///   - next: returns the items; nil after the last. Called by the calling thread, like `consume`.
  ///   - work: called on any of the threads.
  /// - Throws: the errors of `next` and `consume`, and that of `work` for the first item that failed; no
  ///   further item is then begun.
  func forEach<Item: Sendable, Output: Sendable>(
    window: Int, _ next: () throws -> Item?,
    _ work: @escaping @Sendable (Item, ClusterMerger) throws -> Output,
    consume: (Output) throws -> Void
  ) throws {
    let list = WorkList<Item, Output>()
    var threads: [Thread] = []
    defer {
      list.end()
      for thread in threads { thread.join() }
    }
    var item = try next()
    var (given, consumed) = (0, 0)
    while true {
      while given - consumed < max(1, window), let some = item {
        list.add(some)
        given += 1
        item = try next()
        // A thread is started when it has work.
        if given > threads.count + 1, threads.count + 1 < mergers.count {
          let hand = Hand(mergers[threads.count + 1])
          if let thread = try? Thread(
            name: "compaction", { list.work { try work($0, hand.merger) } })
          {
            threads.append(thread)
          }
        }
      }
      if consumed == given { return }
      switch list.outcomeOrItem(consumed) {
      case .outcome(let outcome):
        consumed += 1
        try consume(outcome.get())
      case .item(let index, let item):
        list.note(Result { try work(item, mergers[0]) }, of: index)
      }
    }
  }

  /// Calls `work` for each item, on as many threads as the team has, and returns the results in order.
  ///
  /// - Throws: the errors of `forEach`.
  func map<Item: Sendable, Output: Sendable>(
    _ items: [Item], _ work: @escaping @Sendable (Item, ClusterMerger) throws -> Output
  ) throws -> [Output] {
    var left = items.makeIterator()
    var outputs: [Output] = []
    try forEach(window: items.count, { left.next() }, work) { outputs.append($0) }
    return outputs
  }
}

/// Passes a merger to the thread that uses it.
private final class Hand: @unchecked Sendable {
  // @unchecked: used by one thread until that has been joined, and by the team's thread afterwards.
  let merger: ClusterMerger
  init(_ merger: ClusterMerger) { self.merger = merger }
}

/// Items that several threads take in order, and the outcome of each.
///
/// Thread rule: any thread; `add`, `outcomeOrItem` and `end` only on one thread.
private final class WorkList<Item: Sendable, Output: Sendable>: @unchecked Sendable {
  enum Turn {
    case outcome(Result<Output, any Error>)
    case item(Int, Item)
  }

  // @unchecked: `lock` guards everything.
  private let lock = Lock()
  /// The items; the first one not taken is at `head`.
  private var items: [Item] = []
  private var head = 0
  /// The number of the item at `head`.
  private var number = 0
  private var outcomes: [Int: Result<Output, any Error>] = [:]
  private var isEnded = false

  func add(_ item: Item) {
    lock.withLock {
      items.append(item)
      lock.wakeAll()
    }
  }

  /// Ends the list; items that no thread has taken are dropped.
  func end() {
    lock.withLock {
      isEnded = true
      (items, head) = ([], 0)
      lock.wakeAll()
    }
  }

  func note(_ outcome: Result<Output, any Error>, of index: Int) {
    lock.withLock {
      outcomes[index] = outcome
      lock.wakeAll()
    }
  }

  /// The outcome of an item; if there is none yet, another item to work on meanwhile. Waits while there is
  /// neither.
  func outcomeOrItem(_ index: Int) -> Turn {
    lock.withLock {
      while true {
        if let outcome = outcomes.removeValue(forKey: index) { return .outcome(outcome) }
        if let (index, item) = take() { return .item(index, item) }
        lock.wait()
      }
    }
  }

  /// Works until the end.
  func work(_ body: (Item) throws -> Output) {
    while let (index, item) = next() { note(Result { try body(item) }, of: index) }
  }

  private func next() -> (Int, Item)? {
    lock.withLock {
      while true {
        if let taken = take() { return taken }
        if isEnded { return nil }
        lock.wait()
      }
    }
  }

  /// Requires the lock.
  private func take() -> (Int, Item)? {
    guard head < items.count else { return nil }
    let taken = (number, items[head])
    number += 1
    head += 1
    // Now and then, so that a long list is not moved for each item.
    if head * 2 >= items.count {
      items.removeFirst(head)
      head = 0
    }
    return taken
  }
}

extension BlockReader {
  /// Tells the system that a leaf's pages will not be read again soon, so that a long read of a large file
  /// does not count as this process's memory.
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
