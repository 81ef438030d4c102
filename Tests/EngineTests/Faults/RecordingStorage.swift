import Base

@testable import Engine

/// A storage in memory that records all operations in order, so that tests can build what a power cut
/// would leave.
///
/// Thread rule: any thread.
final class RecordingStorage: Storage, @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`; the region stays where it is.

  /// An operation, or a mark for what the database had promised by then.
  enum Entry: Sendable {
    case write(offset: Int, bytes: [UInt8])
    case resize(Int)
    /// Flushes take time: what comes between the two entries may not be on the disk.
    case flushBegan(Int)
    case flushEnded(Int)
    /// The folder was flushed: the file's name is durable.
    case nameFlushed
    /// A commit of the contents with this number was begun.
    case began(Int)
    /// The database has reported these contents durable.
    case acknowledged(Int)
    /// Another process continues from these contents: none that came later can come back.
    case tookOver(Int)
    /// Another file, complete and flushed, was renamed over this one.
    case replaced([UInt8])

    var isOperation: Bool {
      switch self {
      case .began, .acknowledged, .tookOver: false
      default: true
      }
    }
  }

  static let capacity = 64 << 20

  let path = "memory.sheaf"
  private let region: UnsafeMutableRawPointer
  private let lock = Lock()
  private var size = 0
  private var entries: [Entry] = []
  private var flushes = 0
  private var outside: [String] = []
  private let isRecording: Bool
  /// How long a flush takes, so that the writer runs ahead as on a real disk.
  let flushMilliseconds: UInt32

  init(_ content: [UInt8] = [], isRecording: Bool = true, flushMilliseconds: UInt32 = 0) {
    guard let memory = System.reserve(length: Self.capacity) else {
      preconditionFailure("no address space for a test's storage")
    }
    region = memory
    self.isRecording = isRecording
    self.flushMilliseconds = flushMilliseconds
    content.withUnsafeBytes { bytes in
      if let base = bytes.baseAddress { region.copyMemory(from: base, byteCount: bytes.count) }
    }
    size = content.count
  }

  deinit { System.unmap(region, length: Self.capacity) }

  /// A storage after the death of the process that wrote `entries`: all its operations happened, but
  /// unflushed ones are still not durable.
  convenience init(afterDeath entries: ArraySlice<Entry>) throws {
    self.init()
    for entry in entries {
      switch entry {
      case .write(let offset, let bytes): try bytes.withUnsafeBytes { try write($0, at: offset) }
      case .resize(let length): try resize(to: length)
      case .replaced(let content):
        lock.withLock {
          region.initializeMemory(as: UInt8.self, to: 0, size)
          content.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress {
              region.copyMemory(from: base, byteCount: bytes.count)
            }
          }
          size = content.count
          self.entries.append(entry)
        }
      case .flushBegan, .flushEnded, .nameFlushed, .began, .acknowledged, .tookOver:
        lock.withLock { self.entries += [entry] }
      }
    }
    // The numbers of flushes must not repeat.
    flushes = 1_000_000 + entries.count
  }

  var log: [Entry] { lock.withLock { entries } }

  /// Views beyond the end, which would end the process on a real file.
  var viewsOutside: [String] { lock.withLock { outside } }

  var content: [UInt8] {
    lock.withLock { Array(UnsafeRawBufferPointer(start: region, count: size)) }
  }

  func mark(_ entry: Entry) { lock.withLock { entries.append(entry) } }

  private func record(_ entry: @autoclosure () -> Entry) {
    if isRecording { entries.append(entry()) }
  }

  func length() -> Int { lock.withLock { size } }

  func resize(to length: Int) throws(SystemError) {
    guard length <= Self.capacity else {
      throw SystemError(operation: "resize", path: path, code: 28)
    }
    lock.withLock {
      if length < size { (region + length).initializeMemory(as: UInt8.self, to: 0, size - length) }
      size = length
      record(.resize(length))
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    guard let base = bytes.baseAddress else { return }
    guard offset + bytes.count <= Self.capacity else {
      throw SystemError(operation: "write", path: path, code: 28)
    }
    lock.withLock {
      (region + offset).copyMemory(from: base, byteCount: bytes.count)
      size = max(size, offset + bytes.count)
      record(.write(offset: offset, bytes: Array(bytes)))
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    lock.withLock {
      let count = min(max(0, size - offset), buffer.count)
      guard count > 0, let target = buffer.baseAddress else { return 0 }
      target.copyMemory(from: region + offset, byteCount: count)
      return count
    }
  }

  func flush() {
    let number = lock.withLock {
      flushes += 1
      record(.flushBegan(flushes))
      return flushes
    }
    if flushMilliseconds > 0 { System.sleep(milliseconds: flushMilliseconds) }
    lock.withLock { record(.flushEnded(number)) }
  }

  func flushName() { lock.withLock { record(.nameFlushed) } }

  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    lock.withLock {
      if offset < 0 || count < 0 || offset + count > size {
        outside.append("\(count) bytes at \(offset) of a file of \(size)")
      }
      guard offset >= 0, count >= 0, offset + count <= Self.capacity else { return nil }
      return UnsafeRawBufferPointer(start: region + offset, count: count)
    }
  }
}

extension UnsafeMutableRawPointer {
  fileprivate func initializeMemory(as type: UInt8.Type, to value: UInt8, _ count: Int) {
    initializeMemory(as: type, repeating: value, count: count)
  }
}
