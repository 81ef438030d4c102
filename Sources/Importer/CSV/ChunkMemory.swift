import Base
import Engine

/// A block of memory in which several chunks may lie back to back.
///
/// The first `capacity` bytes hold input. As many bytes after them are scratch: the unescaped fields of the
/// bytes at i are before i + capacity, so chunks do not share scratch either. Scratch uses memory only where
/// it is accessed.
///
/// Returns to its pool when the last chunk in it is released.
final class ChunkMemory: @unchecked Sendable {
  // @unchecked: the splitter writes after the chunks that it has passed on, and each chunk's holder reads
  // that chunk's bytes and writes its scratch: the ranges are disjoint.
  let base: UnsafeMutableRawPointer
  let capacity: Int
  private let pool: ChunkMemoryPool

  fileprivate init(base: UnsafeMutableRawPointer, capacity: Int, pool: ChunkMemoryPool) {
    self.base = base
    self.capacity = capacity
    self.pool = pool
  }

  deinit { pool.recycle(base, capacity: capacity) }
}

/// Keeps released memory for the next chunks: used pages need no new page faults.
///
/// All open inputs share one pool, and an import keeps it between inputs: otherwise thousands of small inputs
/// would spend a tenth of their time on mapping and unmapping memory.
///
/// Thread rule: any thread.
final class ChunkMemoryPool: @unchecked Sendable {
  // @unchecked: `free` and `freeBytes` are guarded by the lock.
  private static let present = Lock()
  nonisolated(unsafe) private static weak var known: ChunkMemoryPool?  // guarded by `present`

  /// The pool in use, or a new one; its last user releases it.
  static func shared() -> ChunkMemoryPool {
    present.withLock {
      if let known { return known }
      let pool = ChunkMemoryPool()
      known = pool
      return pool
    }
  }

  private let lock = Lock()
  private var free: [(base: UnsafeMutableRawPointer, capacity: Int)] = []
  private var freeBytes = 0
  private let maximumFreeBytes: Int

  init(maximumFreeBytes: Int = 16 << 20) { self.maximumFreeBytes = maximumFreeBytes }

  deinit {
    for memory in free { System.unmap(memory.base, length: Self.mapped(memory.capacity)) }
  }

  /// Memory for at least `capacity` bytes of input; nil when the system has none.
  func take(capacity: Int) -> ChunkMemory? {
    let reused = lock.withLock { () -> (base: UnsafeMutableRawPointer, capacity: Int)? in
      // Not much larger either: it is filled completely, and each of its chunks retains all of it.
      let fitting = capacity...(capacity + capacity / 4)
      guard let index = free.lastIndex(where: { fitting.contains($0.capacity) }) else { return nil }
      freeBytes -= free[index].capacity
      return free.remove(at: index)
    }
    if let reused { return ChunkMemory(base: reused.base, capacity: reused.capacity, pool: self) }
    guard let base = System.reserve(length: Self.mapped(capacity)) else { return nil }
    return ChunkMemory(base: base, capacity: capacity, pool: self)
  }

  fileprivate func recycle(_ base: UnsafeMutableRawPointer, capacity: Int) {
    let dropped = lock.withLock { () -> [(base: UnsafeMutableRawPointer, capacity: Int)] in
      free.append((base, capacity))
      freeBytes += capacity
      // The oldest go first: their size may no longer be needed.
      var count = 0
      while freeBytes > maximumFreeBytes && count < free.count {
        freeBytes -= free[count].capacity
        count += 1
      }
      defer { free.removeFirst(count) }
      return Array(free[..<count])
    }
    for memory in dropped { System.unmap(memory.base, length: Self.mapped(memory.capacity)) }
  }

  private static func mapped(_ capacity: Int) -> Int { 2 * capacity }
}
