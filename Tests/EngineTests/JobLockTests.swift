import Foundation
import Testing

@testable import Engine

/// One job at a time on a file, whatever becomes of the file.
@Suite struct JobLockTests {
  @Test func oneAtATime() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    #expect(throws: SystemError.self) { try JobLock(path, creates: false, waiting: 0) }
    var first: JobLock? = try JobLock(path, creates: true, waiting: 0)
    #expect(first != nil)
    #expect(throws: JobLock.Refusal.busy) { try JobLock(path, creates: true, waiting: 0) }
    let began = System.monotonicNanoseconds
    #expect(throws: JobLock.Refusal.busy) { try JobLock(path, creates: true, waiting: 0.1) }
    #expect(System.monotonicNanoseconds - began >= 100_000_000)
    #expect(throws: JobLock.Refusal.cancelled) {
      try JobLock(path, creates: true, waiting: 100) { true }
    }
    // The file that a compaction puts in place is another one.
    try Data().write(to: URL(fileURLWithPath: folder.path("other")))
    try System.rename(folder.path("other"), to: path)
    let second = try JobLock(path, creates: true, waiting: 0)
    first = nil
    #expect(throws: JobLock.Refusal.busy) { try JobLock(path, creates: true, waiting: 0) }
    withExtendedLifetime(second) {}
    // Readers and writers of single transactions go on.
    try System.remove(path)
    let job = try JobLock(path, creates: true, waiting: 0)
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: [Column("a", .text)]) }
    try database.close()
    withExtendedLifetime(job) {}
  }
}
