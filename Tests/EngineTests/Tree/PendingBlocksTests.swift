import Testing

@testable import Engine

/// A tree whose nodes refer to the same blocks again and again does not cause endless work.
@Suite("Blocks still to be visited")
struct PendingBlocksTests {
  private static let entry = NodeEntry(
    firstKey: 1, count: 1, reference: BlockReference(offset: 8192, length: 600, checksum: 1))

  @Test("No more bytes are given than the version has")
  func budget() throws {
    var pending = PendingBlocks(from: Self.entry, level: 0, end: 1200)
    for _ in 0..<2 {
      let next = try pending.next()
      #expect(next?.entry == Self.entry)
      pending.add(Self.entry, level: 0)
    }
    #expect(throws: PendingBlocks.TooManyBytes.self) { _ = try pending.next() }
  }

  @Test("Bytes that are visited by the way count")
  func spent() throws {
    var pending = PendingBlocks(from: Self.entry, level: 0, end: 1000)
    pending.spend(401)
    #expect(throws: PendingBlocks.TooManyBytes.self) { _ = try pending.next() }
  }
}
