import Foundation
import Importer
import Testing

/// Files and pipes as inputs.
@Suite struct ByteSourceTests {
  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sheaf-input-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private func readAll(_ source: any ByteSource, by size: Int) throws -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
      if count == 0 { return all }
      all += buffer[..<count]
    }
  }

  @Test("A file is read whole and from the middle, and has a size and an identity")
  func filesAreReadWholeAndFromTheMiddle() throws {
    try withFolder { folder in
      let path = folder.appendingPathComponent("a.csv").path
      let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let source = try FileSource(path: path)
      #expect(source.size == 10_000)
      #expect(source.identity == (try FileSource(path: path)).identity)
      #expect(try readAll(source, by: 999) == bytes)
      try source.seek(to: 9_000)
      #expect(try readAll(source, by: 64) == Array(bytes[9_000...]))
    }
  }

  @Test("An input that cannot be read is an error that says which one and why")
  func unreadableInputsSayWhichAndWhy() throws {
    try withFolder { folder in
      #expect {
        try FileSource(path: folder.appendingPathComponent("none.csv").path)
      } throws: { "\($0)".contains("none.csv") && "\($0)".contains("No such file") }
      #expect {
        try FileSource(path: folder.path)
      } throws: { "\($0)".contains("it is a directory: name its files") }
      #expect { try FileSource(descriptor: -1, name: "standard input") } throws: {
        if case ImportError.unreadableInput(path: "standard input", _) = $0 { true } else { false }
      }
    }
  }

  @Test("A pipe has no size, no position, and gives its header before the rest has come")
  func pipesHaveNoSizeAndCannotBePositioned() throws {
    let pipe = Pipe()
    let source = try FileSource(
      descriptor: pipe.fileHandleForReading.fileDescriptor, name: "standard input")
    #expect(source.identity == nil && source.size == nil)
    #expect(throws: ImportError.notSeekable(path: "standard input")) { try source.seek(to: 1) }
    let splitter = RecordSplitter(source: source)
    pipe.fileHandleForWriting.write(Data("a,b\n1".utf8))
    // The header can be read before the rest has come.
    #expect(try splitter.next(recordLimit: 1)?.recordCount == 1)
    pipe.fileHandleForWriting.write(Data(",2\n".utf8))
    try pipe.fileHandleForWriting.close()
    let chunk = try #require(try splitter.next(recordLimit: 1))
    #expect(chunk.copy(from: 0, to: 9) == [])
    #expect(chunk.copy(from: 0, to: chunk.byteCount) == Array("1,2\n".utf8) && chunk.isLast)
  }

  @Test("A dialect whose signs cannot be told apart is refused")
  func dialectsThatCannotBeToldApartAreRefused() {
    for (delimiter, quote) in [(0x2C, 0x2C), (0x0A, 0x22), (0x2C, 0x0D), (0xE9, 0x22)] {
      #expect {
        try Dialect(delimiter: [UInt8(delimiter)], quote: UInt8(quote))
      } throws: { "\($0)".contains("--delimiter") }
    }
  }
}
