import Base
import Testing

@testable import Engine

@Suite("The newest version, in shared memory", .timeLimit(.minutes(60)))
struct VersionCellTests {
  private static func record(_ number: UInt64) -> VersionRecord {
    VersionRecord(
      version: number,
      root: BlockReference(
        offset: number, length: UInt32(truncatingIfNeeded: number), checksum: number),
      end: number)
  }

  @Test("A reader that is passed by never sees half of one version and half of another")
  func whole() throws {
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: VersionCell.encodedBytes, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: VersionCell.encodedBytes)
    defer { memory.deallocate() }
    let cell = VersionCell(memory)
    cell.store(Self.record(1))
    let isDone = AtomicWord.allocate()
    defer { isDone.deallocate() }
    let writer = try Thread(name: "writer") {
      var number: UInt64 = 1
      while isDone.load() == 0 {
        number += 1
        cell.store(Self.record(number))
        // Sometimes several stores come at once; a reader must succeed all the same.
        for _ in 0..<number % 64 { _ = isDone.load() }
      }
    }
    var (last, wrong) = (0 as UInt64, 0)
    let end = System.monotonicNanoseconds + 500_000_000
    while System.monotonicNanoseconds < end {
      for _ in 0..<100 {
        let read = try #require(cell.load())
        if read != Self.record(read.version) || read.version < last { wrong += 1 }
        last = read.version
      }
    }
    isDone.store(1)
    writer.join()
    #expect(wrong == 0)
    #expect(last > 100)
  }
}
