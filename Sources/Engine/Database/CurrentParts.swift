import Base
import Synchronization

/// The parts of a handle's file: the current ones, which threads get without a lock, and replaced ones, until
/// no thread can still be about to use them.
///
/// A thread loads the pointer and retains the object a few instructions later. Between the two it counts as a
/// reader, in one of two counters. Each reader of replaced parts was counted before these were replaced. So
/// they may be released once each counter was zero at some moment after the replacement. New readers count in
/// the counter that is not waited for, so that the other becomes zero. This is the grace period of sleepable
/// read-copy-update (McKenney, 2006), without its wait: what cannot be released yet is tried again later.
///
/// Thread rule: any thread.
final class CurrentParts: @unchecked Sendable {
  // @unchecked: `lock` guards `owned` and `replaced`; the rest is atomic.
  private struct Replaced {
    let parts: FileParts
    /// Which counters were zero since: that of even readers, and the other.
    var seenZero = [false, false]
  }

  /// The address of `owned`, or 0.
  private let pointer = AtomicWord.allocate()
  private let evenReaders = Atomic<Int>(0)
  private let oddReaders = Atomic<Int>(0)
  /// Which counter is for new readers.
  private let newReadersAreEven = Atomic<Bool>(true)
  /// Whether `replaced` has any, for those who would take the lock in vain.
  private let hasReplaced = Atomic<Bool>(false)
  private let lock = Lock()
  private var owned: FileParts?
  private var replaced: [Replaced] = []
  /// Processor time of the flushers of released parts, in nanoseconds.
  private var flusherNanoseconds: UInt64 = 0

  /// The current parts; nil after `set(nil)`.
  ///
  /// - Complexity: O(1): a few atomic operations, and it never waits.
  func get() -> FileParts? {
    let isEven = enter()
    let parts = UnsafeRawPointer(bitPattern: UInt(pointer.load())).map(Self.retained)
    leave(isEven)
    return parts?.takeRetainedValue()
  }

  /// Not inlined, so that the object is retained before the reader leaves.
  @inline(never)
  private static func retained(_ address: UnsafeRawPointer) -> Unmanaged<FileParts> {
    Unmanaged<FileParts>.fromOpaque(address).retain()
  }

  /// Counts a reader; the result is for `leave`.
  @inline(__always)
  func enter() -> Bool {
    let isEven = newReadersAreEven.load(ordering: .relaxed)
    count(isEven, 1)
    return isEven
  }

  @inline(__always)
  func leave(_ isEven: Bool) { count(isEven, -1) }

  @inline(__always)
  private func count(_ isEven: Bool, _ change: Int) {
    if isEven {
      evenReaders.wrappingAdd(change, ordering: .sequentiallyConsistent)
    } else {
      oddReaders.wrappingAdd(change, ordering: .sequentiallyConsistent)
    }
  }

  /// Replaces the current parts. The replaced ones, with their file and its mapping, are released as soon as
  /// nothing uses them: snapshots keep what they read.
  func set(_ parts: FileParts?) {
    lock.withLock {
      if let owned { replaced.append(Replaced(parts: owned)) }
      hasReplaced.store(!replaced.isEmpty, ordering: .relaxed)
      owned = parts
      let address = parts.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) }
      pointer.store(UInt64(address ?? 0))
    }
    releaseReplaced()
  }

  /// Releases replaced parts that no thread can be about to use.
  ///
  /// - Complexity: O(1) when there are none.
  func releaseReplaced() {
    guard hasReplaced.load(ordering: .relaxed) else { return }
    let unused = lock.withLock { () -> [FileParts] in
      let areZero = [
        evenReaders.load(ordering: .sequentiallyConsistent) == 0,
        oddReaders.load(ordering: .sequentiallyConsistent) == 0,
      ]
      var unused: [FileParts] = []
      for index in replaced.indices {
        for counter in areZero.indices where areZero[counter] {
          replaced[index].seenZero[counter] = true
        }
      }
      replaced.removeAll { old in
        guard old.seenZero == [true, true] else { return false }
        flusherNanoseconds &+= old.parts.pipeline.flusherNanoseconds
        unused.append(old.parts)
        return true
      }
      hasReplaced.store(!replaced.isEmpty, ordering: .relaxed)
      newReadersAreEven.store(
        !replaced.contains { !$0.seenZero[0] }, ordering: .relaxed)
      return unused
    }
    // Their file is closed here, without the lock.
    withExtendedLifetime(unused) {}
  }

  /// Processor time of all flushers until now, in nanoseconds.
  var allFlusherNanoseconds: UInt64 {
    lock.withLock {
      ([owned].compactMap(\.self) + replaced.map(\.parts)).reduce(flusherNanoseconds) {
        $0 &+ $1.pipeline.flusherNanoseconds
      }
    }
  }

  deinit {
    for parts in [owned].compactMap(\.self) + replaced.map(\.parts) { parts.pipeline.stop() }
    pointer.deallocate()
  }
}
