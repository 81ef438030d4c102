// Waits for writes to a file, without polling. The differences between Linux and macOS are here and in
// System.swift.

import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Waits until any process writes to a file, or until `stop`.
///
/// Linux reports writes through inotify, macOS through a kqueue. Where neither is available (a user's limit,
/// an unusual file system), `isWatching` is false and a wait ends by its timeout only.
///
/// Thread rule: one thread waits, any thread stops.
package final class FileWatch: Sendable {
  package enum Outcome: Sendable {
    /// The file was written, or that is unknown.
    case written
    case timedOut
    case stopped
  }

  private let wake: (reading: Int32, writing: Int32)
  private let events: Int32?
  private let isStopped = Atomic<Bool>(false)

  package var isWatching: Bool { events != nil }

  /// - Parameters:
  ///   - descriptor: the file, open as long as the watch exists.
  ///   - watches: false: wait by timeout only.
  /// - Throws: `SystemError` when the process has no free descriptor.
  package init(_ descriptor: Int32, path: String, watches: Bool = true) throws(SystemError) {
    wake = try System.pipe()
    events = watches ? Self.watch(descriptor, path: path) : nil
  }

  deinit {
    if let events { System.close(events) }
    System.close(wake.reading)
    System.close(wake.writing)
  }

  /// Ends this and every later wait.
  package func stop() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    // The pipe has space after the byte of an earlier `stop`, which is not read. If the write fails, the wait
    // lasts until its timeout.
    let byte: [UInt8] = [1]
    byte.withUnsafeBytes { try? System.write(wake.writing, $0, path: "") }
  }

  /// Waits for a write since the last wait, for at most `milliseconds`.
  package func wait(milliseconds: Int32) -> Outcome {
    var requests = [pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0)]
    if let events { requests.append(pollfd(fd: events, events: Int16(POLLIN), revents: 0)) }
    #if DEBUG
      // Changes to files do not wake a scheduled thread: it checks, lets the others run, and checks again.
      let time = Scheduling.scheduler == nil ? milliseconds : 0
      if let scheduler = Scheduling.scheduler, poll(&requests, nfds_t(requests.count), 0) == 0 {
        scheduler.pause(milliseconds: Int(milliseconds))
      }
    #else
      let time = milliseconds
    #endif
    let found = System.call(.poll) { poll(&requests, nfds_t(requests.count), time) }
    if requests[0].revents != 0 || isStopped.load(ordering: .sequentiallyConsistent) {
      return .stopped
    }
    if found == 0 { return .timedOut }
    // After a signal the state is unknown; an unnecessary check does no harm.
    if let events, found > 0 { Self.drain(events) }
    return .written
  }

  #if canImport(Darwin)
    private static func watch(_ descriptor: Int32, path: String) -> Int32? {
      let queue = System.call(.watch) { kqueue() }
      guard queue >= 0 else { return nil }
      var change = kevent()
      change.ident = UInt(descriptor)
      change.filter = Int16(EVFILT_VNODE)
      change.flags = UInt16(EV_ADD | EV_CLEAR)
      change.fflags = UInt32(NOTE_WRITE)
      guard kevent(queue, &change, 1, nil, 0, nil) == 0 else {
        System.close(queue)
        return nil
      }
      return queue
    }

    private static func drain(_ queue: Int32) {
      var event = kevent()
      var none = timespec()
      while kevent(queue, nil, 0, &event, 1, &none) > 0 {}
    }
  #else
    private static func watch(_ descriptor: Int32, path: String) -> Int32? {
      let events = System.call(.watch) { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) }
      guard events >= 0 else { return nil }
      // True when the path still names the file of the descriptor.
      func watches(_ path: String) -> Bool {
        System.call(.watch) { inotify_add_watch(events, path, UInt32(IN_MODIFY)) } >= 0
      }
      if !watches("/proc/self/fd/\(descriptor)"), !watches(path) {
        System.close(events)
        return nil
      }
      return events
    }

    private static func drain(_ events: Int32) {
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while let count = try? System.read(events, into: buffer, path: ""), count > 0 {}
      }
    }
  #endif
}
