import TestSupport
import Testing

@testable import Engine

/// The creation of a file, ended by a power cut, on a disk that returns anything for what was not
/// flushed.
@Suite struct CreationTests {
  @Test("Whatever the unwritten bytes are, the file is begun anew", arguments: [1 as UInt64, 2, 3])
  func arbitraryBytes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let created = RecordingStorage()
    _ = try Database.open(storage: created)
    var durable: [UInt8] = []
    var pending: [RecordingStorage.Entry] = []
    var states = 0
    for entry in created.log {
      switch entry {
      case .write, .resize:
        pending.append(entry)
        // Even the mark may be missing: then there are zeros, or nothing.
        guard !durable.isEmpty else { continue }
        for _ in 0..<20 {
          var image = durable
          let length = pending.reduce(image.count) { end, entry in
            if case .resize(let length) = entry { return max(end, length) }
            return end
          }
          image += (image.count..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
          for entry in pending where Bool.random(using: &random) {
            if case .write = entry { PowerCut.apply(entry, to: &image) }
          }
          states += 1
          let storage = RecordingStorage(image, isRecording: false)
          let database = try Database.open(storage: storage)
          try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
          #expect(try database.check().problems == [], "seed \(seed)")
        }
      case .flushEnded:
        for entry in pending { PowerCut.apply(entry, to: &durable) }
        pending = []
      default: break
      }
    }
    #expect(states >= 40)
  }

  @Test("A user's own small file is not taken for one")
  func foreign() {
    for text in ["", "SheafNew", "SheafNew database", "notes"].dropFirst() {
      let storage = RecordingStorage(Array(text.utf8), isRecording: false)
      #expect(throws: EngineError.self) { try Database.open(storage: storage) }
      #expect(storage.content == Array(text.utf8))
    }
  }
}
