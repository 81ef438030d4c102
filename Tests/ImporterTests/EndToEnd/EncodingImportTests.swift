import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Importer

/// Imports in encodings that iconv decodes: rows, rejects, positions, resuming.
@Suite struct EncodingImportTests {
  /// Codes whose second byte is a backslash or a bar, and two codes with the same meaning.
  private static let table: [UInt8] = [0x95, 0x5C]
  private static let po: [UInt8] = [0x83, 0x7C]
  private static let twins: [UInt8] = [0x81, 0xE0, 0x87, 0x90]

  private struct Reason: Decodable {
    let line: Int
    let position: Int
    let byteOffset: Int
    let reason: String
  }

  private static func reasons(_ folder: ImportFolder, _ name: String) throws -> [Reason] {
    try folder.read(name + ".reasons.jsonl").split(separator: 0x0A).map {
      try JSONDecoder().decode(Reason.self, from: Data($0))
    }
  }

  /// Delimiters, quotes and escapes are searched in the text, not among bytes of characters.
  @Test func halvesOfCharactersAreNoDelimiters() throws {
    let folder = try ImportFolder()
    let bytes =
      Array("id|".utf8) + Self.table + Array("\n1|".utf8) + Self.po + Self.table
      + Array("\n2|\"".utf8) + Self.table + Array("\"\n3|".utf8) + Self.po + [0x0A]
    let report = try folder.importCSV(bytes) {
      $0.encoding = TextEncoding(rawValue: "sjis")
      $0.delimiter = "|"
      $0.escape = 0x5C
      $0.header = .firstRecord
    }
    #expect(report.rejected == 0 && report.dialect?.encoding.rawValue == "cp932")
    #expect(try folder.exportText() == "id,表\n1,ポ表\n2,表\n3,ポ\n")
  }

  /// Rejects have the input's own bytes, whichever of several codes for a character it uses.
  @Test(arguments: [1, 3, 1000], ["cp932", "gb18030", "koi8-r"])
  func rejectsAreTheBytes(batch: Int, name: String) throws {
    let folder = try ImportFolder()
    let (code, bad): ([UInt8], [UInt8]) =
      switch name {
      case "cp932": (Self.twins + Self.table, [0xFF])
      case "gb18030": ([0x94, 0x39, 0xDA, 0x33, 0xB0, 0xA1], [0x81, 0x2E])
      default: ([0xD0, 0xD2], [])
      }
    var bytes: [UInt8] = Array("id,".utf8) + code + [0x0A]
    var (rejects, places) = (bytes, [Int]())
    for row in 1...40 {
      let line: [UInt8]
      if row % 7 == 3 {
        line = Array("\(row),".utf8) + code + Array(",more\n".utf8)
        places.append(bytes.count + "\(row),".utf8.count + code.count + 1)
        rejects += line
      } else if row % 7 == 5, !bad.isEmpty {
        line = Array("\(row),".utf8) + code + bad + [0x0A]
        places.append(bytes.count + "\(row),".utf8.count + code.count)
        rejects += line
      } else {
        line = Array("\(row),".utf8) + code + [0x0A]
      }
      bytes += line
    }
    let report = try folder.importCSV(bytes) {
      $0.encoding = TextEncoding(rawValue: name)
      $0.maxRejects = .unlimited
      $0.batchSize = .records(batch)
    }
    #expect(report.rejected == places.count && report.read == 40)
    #expect(report.bytesRead == bytes.count)
    #expect(try folder.read("t.rejects.csv") == rejects)
    let reasons = try Self.reasons(folder, "t.rejects.csv")
    #expect(reasons.map(\.byteOffset) == places)
    #expect(
      bad.isEmpty || reasons.contains { $0.reason.contains("not valid \(name.uppercased())") })
  }

  /// An interrupted import resumes at the right byte, again and again.
  @Test(arguments: ["cp932", "gb18030", "big5", "windows-1251"])
  func goingOn(name: String) throws {
    let code: [UInt8] =
      switch name {
      case "cp932": Self.twins + Self.po
      case "gb18030": [0x94, 0x39, 0xDA, 0x33, 0xA1, 0xA1]
      case "big5": [0x88, 0x62, 0xA4, 0x40]
      default: [0xCF, 0xF0]
      }
    var bytes = Array("id,t\n".utf8)
    for row in 1...900 {
      bytes += Array("\(row),".utf8) + code
      bytes += row % 50 == 7 ? Array(",x\n".utf8) : [0x0A]
    }
    func change(_ options: inout ImportOptions) {
      options.encoding = TextEncoding(rawValue: name)
      options.batchSize = .records(20)
    }
    let whole = try ImportFolder()
    try whole.importCSV(bytes) {
      change(&$0)
      $0.maxRejects = .unlimited
    }
    let folder = try ImportFolder()
    var runs = 0
    while true {
      runs += 1
      do {
        try folder.importCSV(bytes) {
          change(&$0)
          $0.resume = true
          $0.maxRejects = .count(3 * runs)
        }
        break
      } catch ImportError.tooManyRejects {
        guard runs < 30 else { throw ImportError.interrupted }
      }
    }
    #expect(runs > 3)
    #expect(try folder.export() == whole.export())
    #expect(try folder.read("t.rejects.csv") == whole.read("t.rejects.csv"))
    // Another name of the same encoding is the same input; another encoding is not.
    let again = try folder.importCSV(bytes) {
      change(&$0)
      $0.encoding = TextEncoding(rawValue: name == "cp932" ? "Shift_JIS" : name.uppercased())
      $0.resume = true
      $0.maxRejects = .unlimited
    }
    #expect(again.imported == 0)
  }

  /// Footers, skipped lines, and given names instead of the header.
  @Test func footersAndPreambles() throws {
    let folder = try ImportFolder()
    let bytes =
      Self.table + Array("\r\nid,".utf8) + Self.po + Array("\r\n1,".utf8) + Self.twins
      + Array("\r\n2,x,".utf8) + Self.table + Array("\r\n".utf8) + Self.table + Array("\r\n".utf8)
    try folder.importCSV(bytes) {
      $0.encoding = TextEncoding(rawValue: "cp932")
      $0.skipLines = 1
      $0.skipFooter = 1
      $0.header = .firstRecord
      $0.maxRejects = .unlimited
    }
    #expect(try folder.exportText() == "id,ポ\n1,≒≒\n")
    #expect(
      try folder.read("t.rejects.csv")
        == Array("id,".utf8) + Self.po + Array("\n2,x,".utf8) + Self.table + [0x0A])
    #expect(try Self.reasons(folder, "t.rejects.csv").map(\.byteOffset) == [23])
  }

  // MARK: What is not said

  private static func sniff(_ folder: ImportFolder, _ bytes: [UInt8]) throws -> ImportReport {
    try folder.write("s.csv", bytes)
    return try Importer.sniff(ImportOptions(inputs: [folder.path("s.csv")], database: ""))
  }

  /// `sniff` finds the dialect and names the encoding; an import does not follow that.
  @Test func sniffingOtherEncodings() throws {
    let folder = try ImportFolder()
    for (text, name) in [
      (EncodingGuessTests.russian, "koi8-r"), (EncodingGuessTests.japanese, "cp932"),
      (EncodingGuessTests.russian, "utf-16le"),
    ] {
      let text = text.replacing(",", with: ";")
      guard let bytes = try EncodingGuessTests.encoded(text, name) else { continue }
      let report = try Self.sniff(folder, bytes)
      let file = try #require(report.files.first)
      #expect(file.dialect?.encoding.rawValue == name && file.dialect?.delimiter == ";")
      #expect(file.dialect?.sniffed.contains("encoding") == true)
      #expect(file.dialect?.hasHeader == true)
      #expect(report.rejected == 0)
      #expect(
        report.columns.map(\.name)
          == text.prefix { $0 != "\n" }.split(separator: ";").map(String.init))
      #expect(file.notes.contains { $0.contains("--encoding \(name)") }, "\(file.notes)")
      #expect {
        try folder.importCSV(bytes)
      } throws: { "\($0)".contains(name == "koi8-r" ? "likely koi8-r" : name) }
    }
  }

  /// UTF-16 of another alphabet has few NUL bytes, and may be valid UTF-8.
  @Test func unmarkedUTF16IsRefused() throws {
    let folder = try ImportFolder()
    let text = "имя,город\n" + String(repeating: "Александрович,Краснодарская\n", count: 20)
    for name in ["utf-16le", "utf-16be"] {
      let bytes = try #require(try EncodingGuessTests.encoded(text, name))
      #expect(String(validating: bytes, as: UTF8.self) != nil)
      #expect(bytes.count(where: { $0 == 0 }) * 10 < bytes.count * 3)
      #expect { try folder.importCSV(bytes) } throws: {
        "\($0)".contains("UTF-16 without a byte-order mark: try --encoding \(name)")
      }
      #expect(folder.names() == ["t.csv"])
    }
    // A few NUL characters do not make it UTF-16.
    try folder.importCSV("a,b\n" + String(repeating: "x\0\0,yyyyyyyy\n", count: 20), as: "u.csv")
    // Nor do those behind the text.
    #expect {
      try folder.importCSV("a,b\n1,2\n" + String(repeating: "\0", count: 4096), as: "v.csv")
    } throws: { "\($0)".contains("not written to its end; get it again") }
  }

  /// Whoever says UTF-16 may not know the order of its bytes, by which nothing would be left of the records.
  @Test("The order of UTF-16's bytes counts more than the option", arguments: [false, true])
  func orderOfUTF16(isShort: Bool) throws {
    let text =
      "id,имя\n1,Анна\n2,Bob\n" + (isShort ? "" : String(repeating: "3,x\n", count: 50_000))
    for name in ["utf-16le", "utf-16be"] {
      let bytes = try #require(try EncodingGuessTests.encoded(text, name))
      for given in ["utf-16", "utf-16le", "utf-16be"] {
        let folder = try ImportFolder()
        let report = try folder.importCSV(bytes) { $0.encoding = TextEncoding(rawValue: given) }
        #expect(report.dialect?.encoding.rawValue == name, "\(given)")
        #expect(report.imported == (isShort ? 2 : 50_002))
        #expect(try folder.exportText().hasPrefix("id,имя\n1,Анна\n2,Bob\n"))
        let isTold = given == name || (given == "utf-16" && name == "utf-16le")
        #expect(
          report.notes.contains { $0.contains("order of its bytes is that of \(name)") } != isTold)
      }
    }
  }

  @Test("Text of one byte a character is no UTF-16, of which nothing would be left")
  func plainTextIsNoUTF16() throws {
    for name in ["utf-16", "utf-16be"] {
      let folder = try ImportFolder()
      #expect {
        try folder.importCSV("id,name\n1,Bob\n") { $0.encoding = TextEncoding(rawValue: name) }
      } throws: { "\($0)".contains("every line end has a NUL byte: leave --encoding out") }
      // Chinese text alone has none either.
      let bytes = try #require(try EncodingGuessTests.encoded("漢字", "utf-16le"))
      try folder.importCSV(bytes, as: "u.csv") {
        ($0.encoding, $0.header) = (.utf16LE, .absent)
      }
      #expect(try folder.exportText().contains("漢字"))
    }
  }

  @Test("The header of a file that was put behind another is one, also behind its byte-order mark")
  func marksInside() throws {
    let folder = try ImportFolder()
    let rows = (1...1200).map { "\($0),n\($0)\n" }.joined()
    let report = try folder.importCSV(
      "\u{FEFF}id,name\n" + rows + "\u{FEFF}id,name\n1201,x\nid,name\n"
    ) { $0.maxRejects = .count(9) }
    #expect(report.imported == 1201 && report.rejected == 2)
    #expect(try folder.types() == "id int, name text")
  }
}
