import Base
import Foundation
import TestSupport
import Testing

/// Threads and processes wake each other through memory that they share.
@Suite struct EventCountTests {
  /// Two mappings of one file, as two processes would have them.
  private struct Mapped {
    let folder = TemporaryFolder()
    let first: EventCount
    let second: EventCount

    init() throws {
      let path = folder.path("shared")
      try Data(count: 4096).write(to: URL(fileURLWithPath: path))
      func map() throws -> EventCount {
        let descriptor = try System.open(path, .readWrite)
        defer { System.close(descriptor) }
        return EventCount(
          try #require(System.map(descriptor, length: 4096, writable: true)))
      }
      (first, second) = (try map(), try map())
    }
  }

  @Test("An event ends a wait through another mapping of the file")
  func wakes() throws {
    let shared = try Mapped()
    let (first, second) = (shared.first, shared.second)
    let seen = first.count
    let began = System.monotonicNanoseconds
    let thread = try Base.Thread(name: "waker") {
      System.sleep(milliseconds: 50)
      second.advance()
    }
    #expect(first.wait(past: seen, milliseconds: 60_000) == .changed)
    thread.join()
    #expect(System.monotonicNanoseconds - began < 30_000_000_000)
    #expect(first.count == seen + 1)
  }

  @Test("An event before the wait is not missed; without one, the time passes")
  func past() throws {
    let shared = try Mapped()
    let seen = shared.first.count
    shared.second.advance()
    #expect(shared.first.wait(past: seen, milliseconds: 60_000) == .changed)
    let began = System.monotonicNanoseconds
    #expect(shared.first.wait(past: seen + 1, milliseconds: 20) == .timedOut)
    #expect(System.monotonicNanoseconds - began >= 20_000_000)
  }

  @Test("Where the system cannot wait, that is told after a moment, not at once")
  func unknown() throws {
    // Memory that the system cannot read: behind the end of the file.
    let folder = TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: folder.path("empty")))
    let descriptor = try System.open(folder.path("empty"), .readWrite)
    defer { System.close(descriptor) }
    let memory = try #require(System.map(descriptor, length: 4096, writable: true))
    let began = System.monotonicNanoseconds
    #expect(EventCount(memory).wait(past: 0, milliseconds: 60_000) == .unknown)
    #expect((40_000_000..<30_000_000_000).contains(System.monotonicNanoseconds - began))
    System.unmap(memory, length: 4096)
  }
}
