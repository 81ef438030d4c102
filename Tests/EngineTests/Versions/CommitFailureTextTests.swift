import Testing

@testable import Engine

/// The messages of failed commits.
@Suite struct CommitFailureTextTests {
  /// A storage's operations fail in a commit, one after the other: the error says which call failed,
  /// and what is known.
  @Test("What a failed commit says: which call, and what is known")
  func texts() throws {
    var texts: [String] = []
    for number in 0..<40 {
      let storage = FailingStorage(RecordingStorage(isRecording: false))
      let database = try Database.open(storage: storage, options: .tiny)
      try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
      storage.fail(after: number, code: 5)
      do {
        _ = try database.write { try $0.table("a").insert([.int(1)]) }
        break
      } catch EngineError.poisoned(_, let cause) {
        texts.append("\(storage.failure.map(\.rawValue) ?? "")|\(cause)")
      } catch EngineError.system {
      }
    }
    let reason = SystemError(operation: "", path: "", code: 5).reason
    #expect(
      texts == [
        "flush|flush failed before version 3 was written (\(reason)): all up to version 2 is on the disk; "
          + "what was committed after it is not in the file",
        "write|write failed on version 3 (\(reason)): all up to version 2 is on the disk; whether "
          + "version 3 is "
          + "too, shows when the file is opened again",
        "flush|flush failed on version 3 (\(reason)): all up to version 2 is on the disk; whether "
          + "version 3 is "
          + "too, shows when the file is opened again",
      ])
  }

  @Test("No room for a mapping is the system's error, not damage")
  func noMapping() throws {
    let error = BlockError(
      path: "a.sheaf", offset: 8192, length: 10, what: "", system: .noMemory("map", "a.sheaf"))
    #expect(throws: EngineError.system(.noMemory("map", "a.sheaf"))) {
      try translatingErrors("a.sheaf") { throw error }
    }
    let blocks = try BlockReader(storage: Unmapped())
    let reference = BlockReference(offset: 8192, length: 10, checksum: 1)
    let thrown = #expect(throws: BlockError.self) { try blocks.block(reference, end: 1 << 20) }
    #expect(thrown?.system?.code == SystemError.noMemory("map", "").code)
  }

  private final class Unmapped: Storage {
    let path = "a.sheaf"
    func length() -> Int { 1 << 20 }
    func resize(to length: Int) {}
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {}
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int { 0 }
    func flush() {}
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? { nil }
  }
}
