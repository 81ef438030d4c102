import Base
import TestSupport

@testable import Engine

/// A storage in memory whose calls are steps of a schedule: other threads may go on before them, and a
/// flush takes long.
///
/// Thread rule: scheduled threads, one at a time; or one thread that is not scheduled.
final class MemoryStorage: Storage, @unchecked Sendable {
  // @unchecked: the scheduler runs one thread at a time.
  private static let capacity = 1 << 20

  let path = "memory.sheaf"
  private let region = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 4096)
  private var size = 0
  /// The newest version named by a flushed slot, which a power cut would leave.
  private(set) var flushedVersion: UInt64 = 0

  init() { region.initializeMemory(as: UInt8.self, repeating: 0, count: Self.capacity) }

  deinit { region.deallocate() }

  private func reach(_ offset: Int, changes: Bool, isLong: Bool = false) {
    Scheduling.reach(
      .call(SwitchPoint.contents(at: offset), changes: changes, isLong: isLong))
  }

  func length() -> Int { size }

  func resize(to length: Int) throws(SystemError) {
    reach(length, changes: true)
    guard length <= Self.capacity else {
      throw SystemError(operation: "resize", path: path, code: 28)
    }
    if length < size {
      (region + length).initializeMemory(as: UInt8.self, repeating: 0, count: size - length)
    }
    size = length
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    reach(offset, changes: true)
    guard let base = bytes.baseAddress else { return }
    guard offset + bytes.count <= Self.capacity else {
      throw SystemError(operation: "write", path: path, code: 28)
    }
    (region + offset).copyMemory(from: base, byteCount: bytes.count)
    size = max(size, offset + bytes.count)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    reach(offset, changes: false)
    let count = min(max(0, size - offset), buffer.count)
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    target.copyMemory(from: region + offset, byteCount: count)
    return count
  }

  func flush() {
    reach(0, changes: true, isLong: true)
    for slot in 0..<Layout.slotCount where size >= Layout.firstBlockOffset {
      let page = UnsafeRawBufferPointer(
        start: region + slot * Layout.pageBytes, count: Layout.pageBytes)
      if case .valid(let found) = CommitSlot.read(page) {
        flushedVersion = max(flushedVersion, found.record.version)
      }
    }
  }

  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    reach(offset, changes: false)
    guard offset >= 0, count >= 0, offset + count <= size else { return nil }
    return UnsafeRawBufferPointer(start: region + offset, count: count)
  }
}
