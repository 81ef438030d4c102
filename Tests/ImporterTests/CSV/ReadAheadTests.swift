import Base
import Engine
import Testing
import TestSupport

@testable import Importer

/// Pieces that several threads read ahead give the same chunks, to the byte, as one thread that reads
/// on.
@Suite("Reading ahead") struct ReadAheadTests {
  /// Everything that a chunk tells.
  private struct Told: Equatable {
    let numbers: [Int]
    let flags: [Bool]
    let checksums: [UInt64]
    let bytes: [UInt8]

    init(_ chunk: Chunk) {
      numbers = [
        chunk.index, chunk.byteOffset, chunk.firstRecord, chunk.firstLine, chunk.recordCount,
        chunk.lineBreaks, chunk.inputByteCount,
      ]
      flags = [chunk.isLast, chunk.isUnfinished, chunk.blankLinesAreRecords]
      checksums = [chunk.checksumBefore.value, chunk.checksumAfter]
      bytes = chunk.copy(from: 0, to: chunk.byteCount)
    }
  }

  private struct Outcome: Equatable {
    var chunks: [Told] = []
    /// The message for a record that is too long depends on whether it was given up inside quotes.
    var error = ""
    var wasReadAhead = false
  }

  /// The parameters of a splitter.
  private struct Way {
    var limits = ChunkLimits()
    var dialect = Dialect.rfc4180
    var blankLinesAreRecords = false
    /// The limits of the chunks in turn; the last one is for all others.
    var recordLimits = [Int.max]
    var skippedLines = 0
  }

  private func outcome(_ source: any ByteSource, _ way: Way, threads: Int = 0) throws -> Outcome {
    let splitter = RecordSplitter(source: source, dialect: way.dialect, limits: way.limits)
    splitter.blankLinesAreRecords = way.blankLinesAreRecords
    var outcome = Outcome()
    var readers: [Thread] = []
    do {
      try splitter.skipLines(way.skippedLines)
      if let ahead = try splitter.readAhead(threads: threads) {
        outcome.wasReadAhead = true
        readers = try (0..<threads).map { _ in try Thread(name: "reader") { ahead.serve() } }
      }
      var index = 0
      while let chunk = try splitter.next(
        recordLimit: way.recordLimits[min(index, way.recordLimits.count - 1)])
      {
        // The chunk is released: its memory is used again.
        outcome.chunks.append(Told(chunk))
        index += 1
      }
    } catch let ImportError.recordTooLong(position, limit, _) {
      outcome.error = "\(position), longer than \(limit)"
    } catch {
      outcome.error = "\(error)"
    }
    splitter.stopReadingAhead()
    for reader in readers { reader.join() }
    return outcome
  }

  private static func text(_ random: inout SplitMix64) -> [UInt8] {
    let quoted = [
      "\"a\"", "\"\"", "\"x,y\"", "\"two\nlines\"", "\"\r\n\"", "\"say \"\"hi\"\"\"", "\"\"\"\"",
      "\"\n\n\r\r\"", "\"\(String(repeating: "long, \"\"\n", count: 30))\"",
    ]
    let plain = ["a", "", "12", "plain words", "é", " ", String(repeating: "x", count: 150)]
    let odd = [
      "5\" disk", " \"blank\" ", "\"a\"b", "\"a\"b\"c", "a\"\"b", "\"", "'q'", "\t\"t\"", "a\"",
    ]
    let ends = ["\n", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", "\n\r"]
    // Some texts are entirely sound, others not at all.
    let oddity = [0, 0, 3, 40].randomElement(using: &random) ?? 0
    let quoting = [0, 2, 10].randomElement(using: &random) ?? 0
    let end = Bool.random(using: &random) ? 1 : ends.count
    let separator = [",", ",", "   ", " \t "].randomElement(using: &random) ?? ","
    var text = Int.random(in: 0..<4, using: &random) == 0 ? "\u{FEFF}" : ""
    for _ in 0..<Int.random(in: 50...600, using: &random) {
      for field in 0...Int.random(in: 0...3, using: &random) {
        if field > 0 { text += separator }
        let list =
          Int.random(in: 0..<50, using: &random) < oddity
          ? odd : Int.random(in: 0..<12, using: &random) < quoting ? quoted : plain
        text += list.randomElement(using: &random) ?? ""
      }
      text += ends[..<end].randomElement(using: &random) ?? "\n"
      if separator != ",", Int.random(in: 0..<6, using: &random) == 0 {
        text += String(repeating: " ", count: Int.random(in: 0...200, using: &random))
      }
    }
    if Bool.random(using: &random) { text += "the end" }
    return Array(text.utf8)
  }

  private static let dialects: [Dialect] = [
    .rfc4180,
    try? Dialect(quote: nil), try? Dialect(delimiter: [0x20]), try? Dialect(delimiter: [0x09]),
    try? Dialect(quote: UInt8(ascii: "'")), try? Dialect(delimiter: Dialect.whitespace),
  ].compactMap(\.self)

  private static func way(_ random: inout SplitMix64) -> Way {
    var way = Way()
    way.limits = ChunkLimits(
      chunkBytes: [1, 100, 900, 5000, 1 << 20].randomElement(using: &random) ?? 1,
      maximumRecordBytes: [64, 200, 1000, 1 << 20, 1 << 20].randomElement(using: &random) ?? 64,
      readBytes: [1, 64, 1000, 1 << 18].randomElement(using: &random) ?? 1)
    way.limits.strideBytes = [64, 128, 256].randomElement(using: &random) ?? 64
    way.limits.pieceBytes =
      way.limits.strideBytes * Int.random(in: 1...5, using: &random)
    way.dialect =
      Bool.random(using: &random) ? .rfc4180 : dialects.randomElement(using: &random) ?? .rfc4180
    way.blankLinesAreRecords = Bool.random(using: &random)
    way.recordLimits = (0..<5).map { _ in Int.random(in: 1...60, using: &random) }
    if Bool.random(using: &random) { way.recordLimits.append(.max) }
    way.skippedLines = Int.random(in: 0...2, using: &random)
    return way
  }

  @Test("Random texts, pieces, strides and limits", arguments: 0..<8)
  func agreement(part: Int) throws {
    var ahead = 0
    for round in 0..<Effort.rounds(60, long: 20_000) {
      let seed = UInt64(part * 1_000_000 + round)
      var random = SplitMix64(seed: seed)
      let text = Self.text(&random)
      let way = Self.way(&random)
      let slow = try outcome(MemorySource(text), way)
      var fast = try outcome(MemorySource(text), way, threads: 1 + round % 3)
      if fast.wasReadAhead { ahead += 1 }
      fast.wasReadAhead = false
      // Without the texts, which would fill the screen.
      let isSame = slow == fast
      #expect(isSame, "seed \(seed)")
      if !isSame { return }
    }
    #expect(ahead > 0)
  }

  /// A file that changes: reading ahead gives its earlier state, later reads its new one.
  private final class ChangingSource: ByteSource, PositionedSource, @unchecked Sendable {
    // @unchecked: as `MemorySource`; `early` is constant.
    let name = "changing"
    let identity: InputIdentity?
    var isCancelled: @Sendable () -> Bool = { false }
    private let early: [UInt8]
    private let late: MemorySource
    /// The offset at which reading fails.
    private let failsAt: Int
    private var position = 0

    init(early: [UInt8], late: [UInt8], size: Int, failsAt: Int = .max) {
      self.early = early
      self.late = MemorySource(late)
      self.failsAt = failsAt
      identity = InputIdentity(size: size, device: 0, inode: 0, modified: 0)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
      let room = min(buffer.count, failsAt - position)
      if room == 0 {
        throw .readFailed(path: name, byteOffset: position, reason: "the disk is broken")
      }
      let count = try late.read(into: .init(rebasing: buffer[..<room]))
      position += count
      return count
    }

    func seek(to offset: Int) throws(ImportError) {
      position = offset
      try late.seek(to: offset)
    }

    var positioned: (any PositionedSource)? { self }

    func readAhead(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
      // Bytes behind the failing ones can be read.
      let room = failsAt >= offset ? min(buffer.count, failsAt - offset) : buffer.count
      return MemorySource(early).readAhead(into: .init(rebasing: buffer[..<room]), at: offset)
    }
  }

  private static func sound(_ records: Int) -> [UInt8] {
    Array((1...records).map { "\($0),\"two\nlines of \($0)\"\n" }.joined().utf8)
  }

  private var small: Way {
    var way = Way()
    way.limits = .init(chunkBytes: 700, readBytes: 300)
    (way.limits.strideBytes, way.limits.pieceBytes) = (64, 256)
    way.recordLimits = [10]
    return way
  }

  @Test("A file that is cut short meanwhile ends there, one that grows goes on")
  func changes() throws {
    let all = Self.sound(400)
    for (early, late, size) in [
      (5000, 5000, all.count), (5000, all.count, all.count), (all.count, all.count, 6000),
      (6000, all.count, 6000), (4096, 4096, 9000), (5000, 5100, 8000),
    ] {
      func source() -> ChangingSource {
        ChangingSource(early: Array(all[..<early]), late: Array(all[..<late]), size: size)
      }
      let slow = try outcome(MemorySource(Array(all[..<late])), small)
      var fast = try outcome(source(), small, threads: 2)
      #expect(fast.wasReadAhead)
      fast.wasReadAhead = false
      #expect(slow == fast, "early \(early), late \(late), size \(size)")
    }
  }

  @Test("What cannot be read is told in its place")
  func failures() throws {
    let all = Self.sound(400)
    for place in [3000, 4096, 4097, all.count - 1] {
      func source() -> ChangingSource {
        ChangingSource(early: all, late: all, size: all.count, failsAt: place)
      }
      let slow = try outcome(source(), small)
      var fast = try outcome(source(), small, threads: 2)
      #expect(fast.wasReadAhead && fast.error.contains("the disk is broken"))
      fast.wasReadAhead = false
      #expect(slow == fast, "fails at \(place)")
    }
  }

  @Test("Only what can be read at any place, and is long enough, is read ahead")
  func refusals() throws {
    let text = Self.sound(400)
    func isReadAhead(_ source: any ByteSource, threads: Int = 2, _ way: Way) throws -> Bool {
      try outcome(source, way, threads: threads).wasReadAhead
    }
    #expect(try isReadAhead(MemorySource(text), small))
    #expect(try !isReadAhead(MemorySource(text), threads: 0, small))
    // The first read is 300 bytes; each thread needs two pieces of 256.
    #expect(try !isReadAhead(MemorySource(Array(text[..<811])), small))
    for (bytes, threads) in [(812, 1), (1323, 1), (1324, 2), (5000, 3)] {
      let splitter = RecordSplitter(
        source: MemorySource(Array(text[..<bytes])), limits: small.limits)
      #expect(try splitter.readAhead(threads: 3)?.threads == threads)
      splitter.stopReadingAhead()
    }
    for dialect in [
      try Dialect(escape: 0x5C), try Dialect(comment: [0x23]),
      try Dialect(delimiter: Array("||".utf8)),
    ] {
      var way = small
      way.dialect = dialect
      #expect(try !isReadAhead(MemorySource(text), way))
    }
    let decoded = try DecodingSource(detecting: MemorySource(text), given: nil)
    #expect(try isReadAhead(decoded, small))
    let other = try DecodingSource(detecting: MemorySource(text), given: .latin1)
    #expect(try !isReadAhead(other, small))
    #expect(try FileSource(descriptor: 0, name: "standard input").positioned == nil)
  }

  @Test("Strides that are known are not looked at again, whether they begin inside quotes or not")
  func leaps() {
    for isInside in [false, true] {
      var text = Self.sound(600)
      if isInside { text = Array(text[(text.firstIndex(of: 0x22) ?? 0) + 1..<text.count]) }
      let (strides, stride) = (text.count / 256, 256)
      func scan(_ facts: PieceFacts?) -> [Int] {
        var scan = RecordScan(
          dialect: .rfc4180, recordLimit: .max, byteLimit: .max, maximumRecordBytes: 1 << 20,
          blankLinesAreRecords: false)
        if isInside { scan.state = .quoted }
        return text.withUnsafeBytes { bytes in
          guard let base = bytes.baseAddress else { return [] }
          let count = strides * stride
          _ =
            facts.map { scan.advance(base, count: count, atEnd: false, leaping: $0, from: 0) }
            ?? scan.advance(base, count: count, atEnd: false)
          return [scan.records, scan.lineBreaks, scan.recordStart, scan.position]
        }
      }
      let expected = scan(nil)
      let facts = text.withUnsafeBytes { bytes in
        bytes.baseAddress.map {
          PieceFacts(
            $0, count: bytes.count, strideBytes: stride, dialect: .rfc4180,
            blankLinesAreRecords: false)
        }
      }
      // All but the first, which follows unknown bytes.
      for index in stride..<strides * stride { text[index] = 0x0A }
      #expect(scan(facts) == expected)
      #expect(scan(nil) != expected)
    }
  }
}
