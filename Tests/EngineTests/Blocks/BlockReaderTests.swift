import Base
import Testing

@testable import Engine

/// Which blocks are compared with their checksums again.
@Suite struct BlockReaderTests {
  @Test("A reader remembers what it has verified; one for a walk verifies each block, each time")
  func verifying() throws {
    let storage = RecordingStorage(isRecording: false)
    try storage.resize(to: 4 * 4096)
    let sound = [UInt8](repeating: 7, count: 100)
    let offset = 2 * 4096
    try sound.withUnsafeBytes { try storage.write($0, at: offset) }
    let reference = BlockReference(
      offset: UInt64(offset), length: 100, checksum: sound.withUnsafeBytes { Checksum.of($0) })
    let reader = try BlockReader(storage: storage)
    let walking = BlockReader(forWalking: reader)
    let end = UInt64(4 * 4096)
    #expect(try walking.block(reference, end: end).elementsEqual(sound))
    #expect(try reader.block(reference, end: end).elementsEqual(sound))
    // Nothing changes a block that a version refers to: this shows only what is verified again.
    try [UInt8](repeating: 8, count: 1).withUnsafeBytes { try storage.write($0, at: offset) }
    #expect(throws: BlockError.self) { try walking.block(reference, end: end) }
    #expect(throws: Never.self) { try reader.block(reference, end: end) }
  }
}
