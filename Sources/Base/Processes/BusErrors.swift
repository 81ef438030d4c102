// SIGBUS: the process reads a mapped page of a file that cannot be read. The differences between Linux and
// macOS are here and in the System files.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reports the file and the offset before the process ends because a mapped file could not be read: a bad
/// block, a file truncated by others, a lock file whose blocks did not fit on a full disk.
///
/// Every mapping is noted in a table of fixed size that a signal handler may read: it uses only atomics,
/// without allocations and locks.
///
/// Thread rule: any thread.
package enum BusErrors {
  /// The place of a mapping in the table.
  package struct MappingNote: Sendable {
    fileprivate let index: Int
  }

  private static let capacity = 1024
  /// For each mapping: address (0: free, 1: being set up), length, text.
  private static let table = NoteTable(count: capacity * 3)

  private struct NoteTable: @unchecked Sendable {
    // @unchecked: the memory is accessed only through atomic operations.
    let memory: UnsafeMutableRawPointer

    init(count: Int) {
      memory = .allocate(byteCount: count * 8, alignment: 8)
      memory.initializeMemory(as: UInt64.self, repeating: 0, count: count)
    }
  }

  private static func word(_ index: Int, _ part: Int) -> AtomicWord {
    AtomicWord(table.memory + (index * 3 + part) * 8)
  }

  /// Notes a mapping; nil when the table is full: a bus error in the mapping then ends the process without a
  /// message.
  ///
  /// - Parameter advice: what may have happened, and what to do.
  package static func note(
    _ address: UnsafeMutableRawPointer, length: Int, path: String, advice: String
  ) -> MappingNote? {
    unscheduled { take(address, length: length, path: path, advice: advice) }
  }

  private static func take(
    _ address: UnsafeMutableRawPointer, length: Int, path: String, advice: String
  ) -> MappingNote? {
    for index in 0..<capacity where word(index, 0).exchange(0, with: 1) {
      // The text is split at the place of the offset; a zero ends each half.
      let shown = path.utf8.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
      let text = shown + Array(": at byte ".utf8) + [0] + Array(": \(advice)\n".utf8) + [0]
      let memory = UnsafeMutableRawPointer.allocate(byteCount: text.count, alignment: 1)
      memory.copyMemory(from: text, byteCount: text.count)
      word(index, 1).store(UInt64(length))
      word(index, 2).store(UInt64(UInt(bitPattern: memory)))
      word(index, 0).store(UInt64(UInt(bitPattern: address)))
      return MappingNote(index: index)
    }
    return nil
  }

  /// Removes the note; call it before the mapping ends.
  package static func forget(_ place: MappingNote?) {
    guard let place else { return }
    unscheduled {
      word(place.index, 0).store(1)
      UnsafeMutableRawPointer(bitPattern: UInt(word(place.index, 2).swap(0)))?.deallocate()
      word(place.index, 0).store(0)
    }
  }

  /// Accesses bypass the test's scheduler: the table belongs to the whole process, and mappings of other
  /// tests must not change this test's schedule.
  @inline(__always)
  private static func unscheduled<Result>(_ body: () -> Result) -> Result {
    #if DEBUG
      Scheduling.without(body)
    #else
      body()
    #endif
  }

  /// The previous handler.
  private static let previous: Previous = Previous()

  private struct Previous: @unchecked Sendable {
    // @unchecked: written once, before the installation of the handler that reads it.
    let action = UnsafeMutablePointer<sigaction>.allocate(capacity: 1)

    init() { action.initialize(to: sigaction()) }
  }

  /// Reports bus errors in mapped files on standard error, and ends the process with status 74.
  ///
  /// - Parameter replaces: whether to replace an existing handler, which still receives faults at other
  ///   addresses. On some systems Swift's runtime installs one.
  /// - Returns: false, without any change, when the program has its own handler for the signal.
  package static func report(replaces: Bool = false) -> Bool {
    // Allocated now, since the handler must not be the first to use the table.
    _ = table
    guard sigaction(SIGBUS, nil, previous.action) == 0 else { return false }
    var handler = sigaction()
    #if canImport(Darwin)
      let present = previous.action.pointee.__sigaction_u.__sa_handler
      handler.__sigaction_u.__sa_sigaction = { number, info, _ in BusErrors.handle(number, info) }
    #else
      let present = previous.action.pointee.__sigaction_handler.sa_handler
      handler.__sigaction_handler.sa_sigaction = { number, info, _ in BusErrors.handle(number, info)
      }
    #endif
    guard replaces || unsafeBitCast(present, to: Int.self) == 0 else { return false }
    handler.sa_flags = Int32(SA_SIGINFO)
    return sigaction(SIGBUS, &handler, nil) == 0
  }

  /// Runs in the signal handler: atomics, `write` and `_exit`.
  private static func handle(_ number: Int32, _ info: UnsafeMutablePointer<siginfo_t>?) {
    #if canImport(Darwin)
      let fault = info?.pointee.si_addr
    #else
      let fault = info?.pointee._sifields._sigfault.si_addr
    #endif
    let address = UInt64(UInt(bitPattern: fault))
    for index in 0..<capacity {
      let start = word(index, 0).load()
      guard start > 1, address >= start, address &- start < word(index, 1).load(),
        let text = UnsafePointer<CChar>(bitPattern: UInt(word(index, 2).load()))
      else { continue }
      put(text)
      putNumber(address &- start)
      put(text + strlen(text) + 1)
      System.exitAtOnce(74)
    }
    // The fault is not in a mapped file: the previous handler is restored, and the fault occurs again.
    _ = sigaction(number, previous.action, nil)
    if info.map({ $0.pointee.si_code <= 0 }) ?? true { raise(number) }
  }

  private static func put(_ text: UnsafePointer<CChar>) {
    _ = write(2, text, strlen(text))
  }

  private static func putNumber(_ number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      var digit = UInt8(truncatingIfNeeded: number / divisor % 10) + UInt8(ascii: "0")
      _ = write(2, &digit, 1)
      divisor /= 10
    }
  }
}
