import Base
import TestSupport
import Testing

@testable import Engine

/// Pages that a long walk has read are released, with those around them.
@Suite struct MappedRangeTests {
  private static let count = 32 << 20
  private static let blockBytes = 16 << 10

  /// The resident bytes of the mapping that an address is in; nil where the system does not tell.
  private func resident(at address: UnsafeRawPointer) throws -> Int? {
    guard let text = try? System.textFile("/proc/self/smaps") else { return nil }
    let place = UInt(bitPattern: address)
    var isHere = false
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      let bounds = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      if bounds.count == 2, !words[0].hasSuffix(":") {
        isHere = (bounds[0]..<bounds[1]).contains(place)
      } else if isHere, words[0] == "Rss:" {
        return try #require(Int(words[1])) << 10
      }
    }
    return nil
  }

  @Test("A walk through a file maps no more than a few megabytes at a time", arguments: [1, 2, 3])
  func walk(each: Int) throws {
    let folder = TemporaryFolder()
    let storage = try FileStorage(path: folder.path("a"), mode: .createNew)
    try storage.resize(to: Self.count)
    let bytes = (0..<Self.blockBytes).map { UInt8(truncatingIfNeeded: $0) }
    for offset in stride(from: 0, to: Self.count, by: Self.blockBytes) {
      try bytes.withUnsafeBytes { try storage.write($0, at: offset) }
    }
    let all = try #require(storage.view(at: 0, count: Self.count))
    let base = try #require(all.baseAddress)
    var mapped = MappedRange(try BlockReader(storage: storage))
    var most = 0
    // Of every second or third block its neighbours are mapped, too.
    for offset in stride(from: 0, to: Self.count, by: each * Self.blockBytes) {
      mapped.add(
        BlockReference(offset: UInt64(offset), length: UInt32(Self.blockBytes), checksum: 0))
      #expect(all[offset + 4097] == 1)
      if offset % (Self.count / 32) == 0 {
        guard let now = try resident(at: base) else {
          return print("skipped: no /proc/self/smaps")
        }
        most = max(most, now)
      }
    }
    #expect(most > 0 && most < 15 << 20, "\(most) bytes were mapped at a time")
    mapped.release()
    #expect(try #require(try resident(at: base)) < 1 << 20)
    // References of damaged files lead anywhere.
    for offset in [0, UInt64(Int.max), .max] {
      mapped.add(BlockReference(offset: offset, length: .max, checksum: 0))
    }
    mapped.release()
    for place in [Int.max, Int.max - 9, 1 << 62, 1 << 57] {
      #expect(storage.view(at: place - 1, count: 1) == nil)
    }
    // What was forgotten is read again.
    #expect(all[Self.count - 1] == UInt8(truncatingIfNeeded: Self.blockBytes - 1) && all[4096] == 0)
  }
}
