import Testing

@testable import Importer

/// The remembered contents of a note are used only for exactly its bytes.
@Suite("Notes that are known")
struct KnownNotesTests {
  private static func checkpoint(_ name: UInt64) -> Checkpoint {
    Checkpoint(
      input: .init(name: name, path: "/data/\(name).csv", size: nil), options: 1, byteOffset: 2,
      checksum: 3, line: 4)
  }

  @Test(
    "What somebody else has written meanwhile is decoded, and damage is not taken for what was there before"
  )
  func others() {
    let known = KnownNotes()
    let (own, other) = ([Self.checkpoint(1)], [Self.checkpoint(2), Self.checkpoint(3)])
    known.keep(Checkpoint.encode(own), own, as: Checkpoint.note)
    #expect(known.decoded(Checkpoint.encode(own), as: Checkpoint.note) == own)
    #expect(known.decoded(Checkpoint.encode(other), as: Checkpoint.note) == other)
    #expect(known.decoded(Checkpoint.encode(own), as: Checkpoint.note) == own)
    #expect(known.decoded(Array(Checkpoint.encode(other).dropLast()), as: Checkpoint.note) == nil)
    // Each note is remembered by itself.
    #expect(known.decoded(Checkpoint.encode(other), as: Checkpoint.completeNote) == other)
  }
}
