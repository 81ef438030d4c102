import Synchronization

/// An atomic 64-bit word in memory with another owner: a mapping shared by processes, or an allocation.
@usableFromInline
package struct AtomicWord: @unchecked Sendable {
  // @unchecked: the word is accessed only through atomic operations.
  @usableFromInline let pointer: UnsafeMutablePointer<Atomic<UInt64>>

  /// - Parameter memory: 8 aligned, initialised bytes.
  @inlinable package init(_ memory: UnsafeMutableRawPointer) {
    pointer = memory.assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// Allocates a word with the value 0; the caller frees it with `deallocate`.
  package static func allocate() -> AtomicWord {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    memory.initializeMemory(as: UInt64.self, repeating: 0, count: 1)
    return AtomicWord(memory)
  }

  package func deallocate() { UnsafeMutableRawPointer(pointer).deallocate() }

  #if DEBUG
    /// Switches threads in tests with a scheduler.
    @usableFromInline
    func reach(changes: Bool = true) {
      Scheduling.reach(.word(UInt(bitPattern: pointer), changes: changes))
    }
  #else
    @inlinable @inline(__always)
    func reach(changes: Bool = true) {}
  #endif

  @inlinable package func load() -> UInt64 {
    reach(changes: false)
    return pointer.pointee.load(ordering: .sequentiallyConsistent)
  }

  @inlinable package func store(_ value: UInt64) {
    reach()
    pointer.pointee.store(value, ordering: .sequentiallyConsistent)
  }

  /// Stores `value` and returns the previous value.
  @inlinable package func swap(_ value: UInt64) -> UInt64 {
    reach()
    return pointer.pointee.exchange(value, ordering: .sequentiallyConsistent)
  }

  /// Adds one and returns the new value.
  @inlinable package func increment() -> UInt64 {
    reach()
    return pointer.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
  }

  /// Subtracts one, but not from 0.
  @inlinable package func decrement() {
    var value = load()
    while value > 0, !exchange(value, with: value - 1) { value = load() }
  }

  /// Stores `value` if the word is `expected`; otherwise returns false and stores nothing.
  @inlinable package func exchange(_ expected: UInt64, with value: UInt64) -> Bool {
    reach()
    return pointer.pointee.compareExchange(
      expected: expected, desired: value, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Stores `value` if it is larger than the word; otherwise returns false.
  @discardableResult
  @inlinable package func raise(to value: UInt64) -> Bool {
    reach()
    return pointer.pointee.max(value, ordering: .sequentiallyConsistent).oldValue < value
  }
}
