/// A few objects that threads take out, use alone and put back, so that what one use has found out serves
/// the next.
///
/// Thread rule: any thread; nobody waits. Of an object, one thread has it or the pool does.
package final class Pool: @unchecked Sendable {
  // @unchecked: an object is reached by who swapped it out of its slot, and by nobody else.
  private let slots: [AtomicWord]

  package init(capacity: Int = 8) { slots = (0..<capacity).map { _ in AtomicWord.allocate() } }

  deinit {
    while take() != nil {}
    for slot in slots { slot.deallocate() }
  }

  /// An object that was put in; nil when all are in use.
  package func take() -> AnyObject? {
    for slot in slots where slot.load() != 0 {
      let bits = slot.swap(0)
      if let pointer = UnsafeRawPointer(bitPattern: UInt(bits)) {
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeRetainedValue()
      }
    }
    return nil
  }

  /// Puts an object in, which the caller does not use any more; releases it when there is no room.
  package func put(_ object: AnyObject) {
    for slot in slots where slot.load() == 0 {
      let kept = Unmanaged.passRetained(object)
      if slot.exchange(0, with: UInt64(UInt(bitPattern: kept.toOpaque()))) { return }
      kept.release()
    }
  }
}
