import Base
import TestSupport
import Testing

@testable import Engine

/// A rehearsal's bytes are those of the file and of its own writes, in any pieces; its writes never
/// reach the file.
@Suite struct RehearsalStorageTests {
  @Test(
    "Rehearsed writes read as those of a plain model do, and the file stays as it was",
    arguments: Effort.seeds(1..<20))
  func againstAModel(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let folder = TemporaryFolder()
    let pages = 12
    let file = try FileStorage(path: folder.path("base"), mode: .createNew)
    let original = (0..<pages * 4096).map { _ in UInt8.random(in: 0...255, using: &random) }
    try file.resize(to: original.count)
    try original.withUnsafeBytes { try file.write($0, at: 0) }
    let slots = [UInt8](repeating: 7, count: 8192)
    let storage = try slots.withUnsafeBytes {
      try RehearsalStorage(
        file, end: original.count, slots: $0, path: "t", folder: folder.path("."))
    }
    var model = slots + original.dropFirst(slots.count)
    for _ in 0..<200 {
      let start = Int.random(in: 0..<model.count, using: &random)
      let count = min(model.count - start, Int.random(in: 1...9000, using: &random))
      switch Int.random(in: 0..<11, using: &random) {
      case 0, 1:
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        try bytes.withUnsafeBytes { try storage.write($0, at: start) }
        model.replaceSubrange(start..<start + count, with: bytes)
      case 2:
        let length = Int.random(in: 8192...20 * 4096, using: &random)
        try storage.resize(to: length)
        model = Array(model.prefix(length))
        model += [UInt8](repeating: 0, count: length - model.count)
      case 3: storage.forget(start..<start + count)
      case 4..<8:
        let view = try #require(storage.view(at: start, count: count))
        #expect(view.elementsEqual(model[start..<start + count]), "seed \(seed)")
      default:
        var bytes = [UInt8](repeating: 0, count: count + 100)
        let read = try bytes.withUnsafeMutableBytes { try storage.read(into: $0, at: start) }
        #expect(read == min(count + 100, model.count - start))
        #expect(bytes.prefix(read).elementsEqual(model[start..<start + read]), "seed \(seed)")
      }
      #expect(try storage.length() == model.count)
    }
    let view = try #require(file.view(at: 0, count: original.count))
    #expect(view.elementsEqual(original))
  }

  @Test("Mapped memory is released without a copy of the file")
  func forgetting() throws {
    let folder = TemporaryFolder()
    let count = 12 * 4096
    let file = try FileStorage(path: folder.path("base"), mode: .createNew)
    try file.resize(to: count)
    let slots = [UInt8](repeating: 7, count: 8192)
    let storage = try slots.withUnsafeBytes {
      try RehearsalStorage(file, end: count, slots: $0, path: "t", folder: folder.path("."))
    }
    let (own, other) = ([UInt8](repeating: 1, count: 4096), [UInt8](repeating: 2, count: 4096))
    try own.withUnsafeBytes { try storage.write($0, at: 5 * 4096) }
    storage.forget(0..<count)
    // Nobody does so: it shows whether the page is still read from the file.
    try other.withUnsafeBytes { try file.write($0, at: 8 * 4096) }
    #expect(try #require(storage.view(at: 8 * 4096, count: 4096)).elementsEqual(other))
    #expect(try #require(storage.view(at: 5 * 4096, count: 4096)).elementsEqual(own))
  }
}
