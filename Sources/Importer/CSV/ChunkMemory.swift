import Engine

/// One stretch of memory that several chunks may lie in, back to back.
///
/// The first `capacity` bytes hold input. As many behind them are scratch: the unescaped fields of
/// the bytes at i go no further than i + capacity, so chunks never share scratch either. The
/// scratch takes room only where it is touched.
///
/// Goes back to its pool when the last chunk in it is released.
final class ChunkMemory: @unchecked Sendable {
  // @unchecked: the splitter writes behind the chunks it has handed over, and each chunk's holder
  // reads its own bytes and writes its own scratch: the ranges are disjoint.
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

/// Keeps released memory for the next chunks: touched pages need no new page faults.
///
/// Thread rule: any thread.
final class ChunkMemoryPool: @unchecked Sendable {
  // @unchecked: `free` and `freeBytes` are guarded by the lock.
  private let lock = Lock()
  private var free: [(base: UnsafeMutableRawPointer, capacity: Int)] = []
  private var freeBytes = 0
  private let maximumFreeBytes: Int

  init(maximumFreeBytes: Int = 32 << 20) { self.maximumFreeBytes = maximumFreeBytes }

  deinit {
    for memory in free { System.unmap(memory.base, length: Self.mapped(memory.capacity)) }
  }

  /// Memory for at least `capacity` bytes of input; nil when the system has none.
  func take(capacity: Int) -> ChunkMemory? {
    let reused = lock.withLock { () -> (base: UnsafeMutableRawPointer, capacity: Int)? in
      // Not much larger either: chunks in it would hold on to the rest.
      guard
        let index = free.lastIndex(where: { $0.capacity >= capacity && $0.capacity / 4 <= capacity }
        )
      else { return nil }
      freeBytes -= free[index].capacity
      return free.remove(at: index)
    }
    if let reused { return ChunkMemory(base: reused.base, capacity: reused.capacity, pool: self) }
    guard let base = System.reserve(length: Self.mapped(capacity)) else { return nil }
    return ChunkMemory(base: base, capacity: capacity, pool: self)
  }

  fileprivate func recycle(_ base: UnsafeMutableRawPointer, capacity: Int) {
    let kept = lock.withLock { () -> Bool in
      guard capacity <= maximumFreeBytes - freeBytes else { return false }
      freeBytes += capacity
      free.append((base, capacity))
      return true
    }
    if !kept { System.unmap(base, length: Self.mapped(capacity)) }
  }

  private static func mapped(_ capacity: Int) -> Int { 2 * capacity }
}
