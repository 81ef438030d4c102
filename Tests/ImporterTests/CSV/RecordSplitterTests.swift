import Importer
import Testing

/// The chunks of `RecordSplitter`: record numbers, offsets, limits and memory.
@Suite struct RecordSplitterTests {
  private func chunks(
    _ text: String, readSizes: [Int] = [], limits: ChunkLimits = .init(),
    recordLimit: Int = .max
  ) throws -> [Chunk] {
    let splitter = RecordSplitter(
      source: MemorySource(Array(text.utf8), readSizes: readSizes), limits: limits)
    var chunks: [Chunk] = []
    while let chunk = try splitter.next(recordLimit: recordLimit) { chunks.append(chunk) }
    return chunks
  }

  private func text(_ chunk: Chunk) -> String {
    String(decoding: chunk.copy(from: 0, to: chunk.byteCount), as: UTF8.self)
  }

  @Test("An empty input, or a byte order mark alone, has no chunks")
  func emptyInputHasNoChunks() throws {
    #expect(try chunks("").isEmpty)
    #expect(try chunks("\u{FEFF}").isEmpty)
  }

  @Test("The header is record 0 and knows whether it is alone; later chunks have their place")
  func headerIsRecordZeroAndKnowsThatItIsAlone() throws {
    let alone = try chunks("a,b\n", recordLimit: 1)
    #expect(alone.count == 1)
    #expect(alone.first?.firstRecord == 0)
    #expect(alone.first?.isLast == true)

    let splitter = RecordSplitter(source: MemorySource(Array("a,b\r\n\"1\n1\",2\r\n3,4".utf8)))
    let header = try #require(try splitter.next(recordLimit: 1))
    #expect(!header.isLast)
    #expect(text(header) == "a,b\r\n")
    let first = try #require(try splitter.next(recordLimit: 1))
    #expect(first.firstRecord == 1 && first.firstLine == 2 && first.byteOffset == 5)
    let second = try #require(try splitter.next(recordLimit: 1))
    #expect(second.firstRecord == 2 && second.firstLine == 4 && second.isLast)
    #expect(try splitter.next(recordLimit: 1) == nil)
  }

  @Test("A byte order mark at the start counts in offsets only; elsewhere it is data")
  func byteOrderMarkCountsInOffsetsOnly() throws {
    for readSizes in [[], [1], [2, 9]] {
      let chunks = try chunks("\u{FEFF}a\nb\n", readSizes: readSizes, recordLimit: 1)
      #expect(chunks.map(\.byteOffset) == [3, 5])
      #expect(chunks.map { text($0) } == ["a\n", "b\n"])
    }
    // Elsewhere than at the start it is data.
    #expect(
      try chunks("a\n\u{FEFF}b\n", recordLimit: 1).map { text($0) } == ["a\n", "\u{FEFF}b\n"])
  }

  @Test("The line feed of a pair stays with its record, wherever reads split them")
  func lineFeedOfAPairStaysWithItsRecordHoweverReadsFall() throws {
    for split in 1...6 {
      let chunks = try chunks("a\r\nb\r\n", readSizes: [split, 1], recordLimit: 1)
      #expect(chunks.map { text($0) } == ["a\r\n", "b\r\n"], "split at \(split)")
      #expect(chunks.map(\.isLast) == [false, true], "split at \(split)")
    }
  }

  @Test("Blank lines are records where that is asked for")
  func blankLinesAreRecordsWhenAsked() throws {
    let splitter = RecordSplitter(source: MemorySource(Array("x\n\n1\n\n\n2\n".utf8)))
    #expect(try splitter.next(recordLimit: 1)?.recordCount == 1)
    splitter.blankLinesAreRecords = true
    let chunk = try #require(try splitter.next(recordLimit: .max))
    #expect(chunk.recordCount == 5)
    let parsed = RecordParser(dialect: .rfc4180, columnCount: 1).parse(chunk)
    let texts = (0..<parsed.rowCount).map { parsed.text(parsed.span(row: $0, column: 0)) }
    #expect(texts == [nil, [0x31], nil, nil, [0x32]])
  }

  @Test("Blank lines alone make chunks without records, of bounded size")
  func nothingButBlankLinesIsAChunkWithoutRecords() throws {
    let found = try chunks("\n\r\n\n")
    #expect(found.map(\.recordCount) == [0])
    #expect(found.first?.lineBreaks == 3)
    // Memory stays bounded.
    let many = try chunks(
      String(repeating: "\n", count: 1000), limits: .init(chunkBytes: 100))
    #expect(many.count == 10 && many.allSatisfy { $0.recordCount == 0 })
  }

  @Test(
    "A record as long as the limit passes; a longer one throws, with its place",
    arguments: [64, 65, 100, 127, 128, 1000])
  func recordsUpToTheLimitPassAndLongerOnesThrow(limit: Int) throws {
    let fits = String(repeating: "x", count: limit)
    for (record, isTooLong) in [(fits, false), (fits + "x", true)] {
      for end in ["\n", "\r\n", "\r", ""] {
        for readSizes in [[], [1], [63], [limit], [limit + 1]] {
          let splitter = RecordSplitter(
            source: MemorySource(
              Array(("a,b\r\n\"\n\"\n" + record + end).utf8), readSizes: readSizes),
            limits: .init(maximumRecordBytes: limit))
          // Records before one that is too long are not lost.
          let before = try #require(try splitter.next(recordLimit: isTooLong ? .max : 2))
          #expect(before.recordCount == 2 && before.byteCount == 9 && !before.isLast)
          #expect(before.lineBreaks == 3)
          if isTooLong {
            let position = SourcePosition(file: "memory", line: 4, column: 1, byteOffset: 9)
            #expect(
              throws: ImportError.recordTooLong(
                position: position, limit: limit, insideQuotes: false)
            ) { try splitter.next(recordLimit: .max) }
          } else {
            #expect(try splitter.next(recordLimit: .max)?.recordCount == 1)
          }
        }
      }
    }
  }

  @Test("A quote that is never closed is named when the record grows too long")
  func quoteThatIsNeverClosedIsNamedWhenTheRecordGrowsTooLong() throws {
    let text = "a,\"b\n" + String(repeating: "c,d\n", count: 100)
    #expect {
      try chunks(text, limits: .init(maximumRecordBytes: 200))
    } throws: { error in
      "\(error)".contains("memory:1:1 (byte 0)") && "\(error)".contains("never to be closed")
    }
  }

  /// The scan state is kept between reads: scanning all bytes again for each of these reads would take
  /// hours.
  @Test(.timeLimit(.minutes(60)))
  func longRecordInSmallReadsIsScannedOnce() throws {
    let length = 8 << 20
    var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    bytes[0] = UInt8(ascii: "\"")
    bytes[length - 1] = UInt8(ascii: "\"")
    let splitter = RecordSplitter(source: MemorySource(bytes, readSizes: [512]))
    let chunk = try #require(try splitter.next(recordLimit: 1))
    #expect(chunk.byteCount == length && chunk.recordCount == 1 && chunk.isLast)
  }

  @Test("Held chunks keep their bytes while others are read and memory is used again")
  func chunksKeepTheirBytesWhileOthersAreReadAndReused() throws {
    let line = { (number: Int) in
      "\"\(number)\"\"\(number)\",\(String(repeating: "y", count: 80))\n"
    }
    let input = (0..<40_000).map(line).joined()
    let splitter = RecordSplitter(source: MemorySource(Array(input.utf8), readSizes: [100_000]))
    let parser = RecordParser(dialect: .rfc4180, columnCount: 2)
    var held: [Chunk] = []
    var number = 0
    while let chunk = try splitter.next(recordLimit: 1000) {
      held.append(chunk)
      // A few chunks are held at a time, as in an import.
      guard held.count == 5 || chunk.isLast else { continue }
      for chunk in held {
        let parsed = parser.parse(chunk)
        for row in 0..<parsed.rowCount {
          let found = parsed.text(parsed.span(row: row, column: 0))
          try #require(found == Array("\(number)\"\(number)".utf8), "record \(number)")
          number += 1
        }
        parsed.release()
      }
      held.removeAll()
    }
    #expect(number == 40_000)
  }

  @Test("A splitter starts in the middle with the numbers that it is given, even absurd ones")
  func goesOnFromTheMiddle() throws {
    let input = Array("h\n1\n2\n3\n".utf8)
    let splitter = RecordSplitter(
      source: MemorySource(input), start: .init(byteOffset: 4, line: 3, record: 2))
    let chunk = try #require(try splitter.next(recordLimit: 1))
    #expect(text(chunk) == "2\n")
    #expect(chunk.firstRecord == 2 && chunk.firstLine == 3 && chunk.byteOffset == 4)
    // Numbers from a damaged checkpoint do no harm.
    let wild = RecordSplitter(
      source: MemorySource(input), start: .init(byteOffset: 4, line: .max, record: .max))
    #expect(try wild.next(recordLimit: 1)?.recordCount == 1)
  }

  @Test("Peeking takes no bytes from the input")
  func peekTakesNothing() throws {
    let splitter = RecordSplitter(
      source: MemorySource(Array("\u{FEFF}a,b\nc,d\n".utf8), readSizes: [1]))
    #expect(try splitter.peek(4) == Array("a,b\n".utf8))
    #expect(try splitter.peek(2) == Array("a,".utf8))
    #expect(try splitter.peek(100) == Array("a,b\nc,d\n".utf8))
    let chunk = try #require(try splitter.next(recordLimit: .max))
    #expect(text(chunk) == "a,b\nc,d\n" && chunk.isLast && chunk.byteOffset == 3)
  }
}
