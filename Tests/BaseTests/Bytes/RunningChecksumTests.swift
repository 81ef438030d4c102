import Base
import Testing
import TestSupport

/// A checksum of pieces is the checksum of the whole, wherever it is cut and asked for.
@Suite struct RunningChecksumTests {
  @Test("The checksum of pieces is that of all bytes so far", arguments: 0..<40 as Range<UInt64>)
  func pieces(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let bytes = (0..<Int.random(in: 0...500, using: &random)).map { _ in
      UInt8.random(in: 0...255, using: &random)
    }
    var running = RunningChecksum()
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + Int.random(in: 0...70, using: &random))
      Array(bytes[start..<end]).withUnsafeBytes { running.update($0) }
      start = end
      #expect(running.value == Checksum.of(Array(bytes[..<end])), "seed \(seed), \(end) bytes")
      #expect(running.count == end)
    }
    #expect(running.value == Checksum.of(bytes))
  }
}
