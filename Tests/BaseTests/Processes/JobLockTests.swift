import Base
import Foundation
import TestSupport
import Testing

/// One job at a time on a file, whatever becomes of the file.
@Suite struct JobLockTests {
  private static func lock(
    _ path: String, creates: Bool, seconds: Double,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws -> JobLock {
    var patience = Patience(seconds: seconds, shouldStop: isCancelled)
    return try JobLock(path, creates: creates, &patience)
  }

  @Test("One job at a time holds the lock, and others are refused or wait")
  func oneAtATime() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    #expect(throws: SystemError.self) { try Self.lock(path, creates: false, seconds: 0) }
    var first: JobLock? = try Self.lock(path, creates: true, seconds: 0)
    #expect(first != nil)
    #expect(throws: JobLock.Refusal.busy) { try Self.lock(path, creates: true, seconds: 0) }
    let began = System.monotonicNanoseconds
    #expect(throws: JobLock.Refusal.busy) { try Self.lock(path, creates: true, seconds: 0.1) }
    #expect(System.monotonicNanoseconds - began >= 100_000_000)
    #expect(throws: JobLock.Refusal.cancelled) {
      try Self.lock(path, creates: true, seconds: 100) { true }
    }
    // The file that a compaction puts in place is another one.
    try Data().write(to: URL(fileURLWithPath: folder.path("other")))
    try System.rename(folder.path("other"), to: path)
    let second = try Self.lock(path, creates: true, seconds: 0)
    first = nil
    #expect(throws: JobLock.Refusal.busy) { try Self.lock(path, creates: true, seconds: 0) }
    withExtendedLifetime(second) {}
  }

  @Test("A file is removed again only by the lock that created it, and while nobody uses it")
  func removed() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    var lock = try Self.lock(path, creates: true, seconds: 0)
    lock.removeUnused()
    #expect(folder.names().isEmpty)
    // A file that was there.
    try Data().write(to: URL(fileURLWithPath: path))
    lock = try Self.lock(path, creates: true, seconds: 0)
    lock.removeUnused()
    #expect(folder.names() == ["t.sheaf"])
    try System.remove(path)
    // One that a handle of a database has opened, which locks a byte of its own.
    lock = try Self.lock(path, creates: true, seconds: 0)
    let handle = try System.open(path, .readWrite)
    #expect(
      try System.lock(handle, .shared, at: 1 << 62 + 5, length: 1, wait: false, path: path))
    lock.removeUnused()
    #expect(folder.names() == ["t.sheaf"])
    System.close(handle)
    // Another of its name.
    try System.remove(path)
    try Data().write(to: URL(fileURLWithPath: path))
    lock.removeUnused()
    #expect(folder.names() == ["t.sheaf"])
    try System.remove(path)
    // One that has been written to.
    lock = try Self.lock(path, creates: true, seconds: 0)
    try Data([1]).write(to: URL(fileURLWithPath: path))
    lock.removeUnused()
    #expect(folder.names() == ["t.sheaf"])
  }
}
