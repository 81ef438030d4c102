import Base
import Engine
import Importer
import Testing
import TestSupport

/// Several threads parse chunks that share memory while the splitter reads on.
@Suite struct ParallelParsingTests {
  private final class Results: @unchecked Sendable {
    // @unchecked: guarded by the lock.
    let lock = Lock()
    var waiting: [Chunk] = []
    var isComplete = false
    var texts: [Int: [[UInt8]?]] = [:]

    func parseAll(_ parser: RecordParser) {
      while true {
        lock.lock()
        while waiting.isEmpty && !isComplete { lock.wait() }
        let chunk = waiting.popLast()
        lock.unlock()
        guard let chunk else { return }
        let parsed = parser.parse(chunk)
        let texts = parsed.spans.map { parsed.text($0) }
        parsed.release()
        lock.withLock { self.texts[chunk.index] = texts }
      }
    }
  }

  @Test(
    "Chunks that several threads parse have the fields that the reference parser finds",
    arguments: 1...4)
  func threadsAgreeWithTheReference(threads: Int) throws {
    var random = SplitMix64(seed: UInt64(threads))
    var input: [UInt8] = []
    for number in 0..<3_000 {
      let text =
        ["plain", "\"a,b\"", "\"say \"\"hi\"\"\"", "", "\"two\nlines\"", "5\" disk"]
        .randomElement(using: &random) ?? ""
      input += Array("\(number),\(text)\n".utf8)
    }
    let results = Results()
    let workers = try (0..<threads).map { _ in
      try Thread(name: "parser") {
        results.parseAll(RecordParser(dialect: .rfc4180, columnCount: 2))
      }
    }
    let splitter = RecordSplitter(source: MemorySource(input, readSizes: [1000, 17]))
    while let chunk = try splitter.next(recordLimit: 70) {
      results.lock.withLock { results.waiting.append(chunk) }
      results.lock.wakeAll()
    }
    results.lock.withLock { results.isComplete = true }
    results.lock.wakeAll()
    for worker in workers { worker.join() }
    let found = results.texts.sorted { $0.key < $1.key }.flatMap(\.value)
    #expect(found == ReferenceParser(input).records.flatMap(\.fields))
  }
}
