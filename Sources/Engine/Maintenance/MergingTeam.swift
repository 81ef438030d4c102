/// Threads that each have a `ClusterMerger`, for work on a few clusters at a time.
///
/// Thread rule: confined to the thread that calls `map`.
final class MergingTeam {
  private let mergers: [ClusterMerger]

  init(size: Int) { mergers = (0..<max(1, size)).map { _ in ClusterMerger() } }

  var size: Int { mergers.count }

  /// Calls `work` for each item, on a thread of its own each but for the first, and returns the
  /// results in order.
  ///
  /// - Precondition: at most `size` items.
  /// - Throws: what `work` threw for the first item that failed; `SystemError` when the system has no
  ///   room for a thread.
  func map<Item: Sendable, Output: Sendable>(
    _ items: [Item],
    _ work: @escaping @Sendable (Item, ClusterMerger) throws -> Output
  ) throws -> [Output] {
    var slots: [Slot<Output>] = []
    var threads: [Thread] = []
    defer { for thread in threads { thread.join() } }
    for (item, merger) in zip(items, mergers) {
      let slot = Slot<Output>(merger)
      slots.append(slot)
      if slots.count == 1 { continue }
      threads.append(try Thread(name: "compaction") { slot.run(item, work) })
    }
    if let first = slots.first { first.run(items[0], work) }
    for thread in threads { thread.join() }
    threads = []
    return try slots.map { try $0.take() }
  }
}

/// What one thread works with, and what came of it.
private final class Slot<Output: Sendable>: @unchecked Sendable {
  // @unchecked: used by one thread until that has been joined, and by the team's thread afterwards.
  private let merger: ClusterMerger
  private var result: Result<Output, any Error>?

  init(_ merger: ClusterMerger) { self.merger = merger }

  func run<Item>(_ item: Item, _ work: (Item, ClusterMerger) throws -> Output) {
    result = Result { try work(item, merger) }
  }

  func take() throws -> Output {
    guard let result else { throw SystemError.noMemory("start thread", "") }
    return try result.get()
  }
}

extension BlockReader {
  /// Tells the system that a leaf's pages will not be read again soon, so that a long read of a
  /// large file does not count as this process's memory.
  func forget(_ entry: NodeEntry, end: UInt64) {
    // Only a file's own mapping may be dropped: other memory would lose what it holds.
    guard storage is FileStorage else { return }
    if entry.reference.isOverlay, let base = try? overlay(entry, end: end).base {
      forget(base, end: end)
    }
    let reference = entry.reference
    guard
      let bytes = storage.view(at: Int(clamping: reference.offset), count: Int(reference.length))
    else { return }
    System.forgetMapped(bytes)
  }
}
