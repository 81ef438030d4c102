/// A few objects that threads take out, use alone and put back, so that a later use finds the results of
/// earlier ones.
///
/// Thread rule: any thread; none waits. An object belongs either to one thread or to the pool.
package final class Pool: @unchecked Sendable {
  // @unchecked: only the thread that swapped an object out of its slot uses it.
  private let slots: [AtomicWord]

  package init(capacity: Int = 8) { slots = (0..<capacity).map { _ in AtomicWord.allocate() } }

  deinit {
    while take() != nil {}
    for slot in slots { slot.deallocate() }
  }

  /// Takes out an object; nil when the pool has none.
  package func take() -> AnyObject? {
    for slot in slots where slot.load() != 0 {
      let bits = slot.swap(0)
      if let pointer = UnsafeRawPointer(bitPattern: UInt(bits)) {
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeRetainedValue()
      }
    }
    return nil
  }

  /// Puts back an object that the caller no longer uses; releases it when the pool is full.
  package func put(_ object: AnyObject) {
    for slot in slots where slot.load() == 0 {
      let kept = Unmanaged.passRetained(object)
      if slot.exchange(0, with: UInt64(UInt(bitPattern: kept.toOpaque()))) { return }
      kept.release()
    }
  }
}
