import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Importer

/// Exports on one thread and on several, compared with an export field by field and byte by byte.
@Suite struct ExportTests {
  private static let columns = [
    Column("text", .text), Column("few, \"odd\"", .text), Column("int", .int),
    Column("double", .double), Column("bool", .bool), Column("date", .date),
    Column("moment", .dateTime), Column("data", .data), Column("plain", .text),
    Column("amount", .decimal), Column("uuid", .uuid),
  ]

  private static func value(_ column: Column, _ random: inout SplitMix64) throws -> Value {
    func text(_ alphabet: [Character], _ longest: Int) -> Value {
      let length =
        Int.random(in: 0..<8, using: &random) == 0
        ? Int.random(in: 0...longest, using: &random) : Int.random(in: 0...9, using: &random)
      return .text(
        String((0..<length).map { _ in alphabet.randomElement(using: &random) ?? "a" }))
    }
    if Int.random(in: 0..<9, using: &random) == 0 { return .null }
    switch column.type {
    case .text where column.name == "plain": return text(["a", "b", "é", "𝄞"], 200)
    case .text where column.name == "text":
      // Some rows have few quotes, others only quotes.
      return Int.random(in: 0..<3, using: &random) == 0
        ? text(["\"", ",", "\n", "\r", "\\", "\u{7F}", "\u{1}", "£"], 150)
        : text(["x", "y", " ", ",", "\"", "ä"], 300)
    case .text: return .text(["", "a", "a,b", "\"", "line\nline"][Int(random.next() % 5)])
    case .int: return .int(Int64(bitPattern: random.next()) >> Int64(random.next() % 64))
    case .double: return .double([0.5, -3, 1e300, .infinity, .nan][Int(random.next() % 5)])
    case .bool: return .bool(random.next() % 2 == 0)
    case .date:
      return CalendarDate(daysSince1970: Int(random.next() % 40_000)).map { .date($0) } ?? .null
    case .dateTime:
      return DateTime(microsecondsSince1970: Int64(random.next() % (1 << 50))).map { .dateTime($0) }
        ?? .null
    case .time:
      return TimeOfDay(microseconds: Int64(random.next() % 86_400_000_000)).map { .time($0) }
        ?? .null
    case .decimal:
      let digits = Int128(Int64(bitPattern: random.next()))
      return ExactDecimal(coefficient: digits, scale: Int(random.next() % 30)).map { .decimal($0) }
        ?? .null
    case .uuid: return .uuid(UniqueIdentifier(bits: UInt128(random.next()) << 60))
    case .data:
      let length = Int.random(in: 0...7, using: &random)
      return .data((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
  }

  /// A table with clusters of a few thousand rows, some of them changed.
  private static func database(_ path: String, rows: Int, seed: UInt64) throws -> Database {
    var random = SplitMix64(seed: seed)
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: columns) }
    for start in stride(from: 0, to: rows, by: 2000) {
      try database.write { transaction in
        let table = try transaction.table("t")
        for _ in start..<min(start + 2000, rows) {
          try table.insert(try columns.map { try value($0, &random) })
        }
      }
    }
    try database.write { transaction in
      let table = try transaction.table("t")
      var deleted: Set<Int64> = []
      for _ in 0..<rows / 50 {
        let key = Int64.random(in: 1...Int64(rows), using: &random)
        if deleted.contains(key) { continue }
        if random.next() % 3 == 0 {
          _ = try table.delete(key)
          deleted.insert(key)
        } else {
          try table.update(key, ["text": try value(columns[0], &random)])
        }
      }
    }
    return database
  }

  // MARK: The slow twin

  private static func twin(_ exporter: TableExporter, _ table: Table) throws -> [UInt8] {
    let reader = try ResultReader(exporter.query, table)
    let columns = reader.columnIndices.map { reader.schema.columns[$0] }
    var output: [UInt8] = []
    func csv(_ bytes: [UInt8]) -> [UInt8] {
      let special: Set<UInt8> = [0x22, 0x2C, 0x0A, 0x0D]
      if !bytes.isEmpty, special.isDisjoint(with: bytes) { return bytes }
      return [0x22] + bytes.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] } + [0x22]
    }
    if exporter.format == .csv, exporter.hasHeader {
      output += columns.map { csv(Array($0.name.utf8)) }.joined(separator: [0x2C]) + [0x0A]
    }
    try reader.forEachWindow { window in
      for row in 0..<window.count {
        let fields = columns.indices.map { window.field(row, $0).map(Array.init) }
        if exporter.format == .csv {
          output += zip(fields, columns).map { field, column in
            // An empty field in quotes, which is not null.
            field.map { column.type == .data && !$0.isEmpty ? base64($0) : csv($0) } ?? []
          }.joined(separator: [0x2C])
        } else {
          let members = try zip(fields, columns).map { field, column in
            string(Array(column.name.utf8)) + [0x3A] + (try json(field, column))
          }
          output += [0x7B] + members.joined(separator: [0x2C]) + [0x7D]
        }
        output.append(0x0A)
      }
    }
    return output
  }

  private static func base64(_ bytes: [UInt8]) -> [UInt8] {
    Array(Data(bytes).base64EncodedString().utf8)
  }

  private static func string(_ bytes: [UInt8]) -> [UInt8] {
    var json = JSONWriter()
    json.string(utf8: bytes)
    return json.bytes
  }

  private static func json(_ field: [UInt8]?, _ column: Column) throws -> [UInt8] {
    guard let field else { return Array("null".utf8) }
    let spelling = String(decoding: field, as: UTF8.self)
    switch column.type {
    case .text, .date, .dateTime, .time, .uuid: return string(field)
    case .decimal: return field
    case .data: return [0x22] + base64(field) + [0x22]
    case .bool:
      return Array(
        (["true", "1", "t", "T"].contains(spelling.lowercased()) ? "true" : "false").utf8)
    case .int, .double:
      let number = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/
      return Array((spelling.wholeMatch(of: number) == nil ? "null" : spelling).utf8)
    }
  }

  // MARK: Tests

  @Test("A first name that begins with a byte-order mark stays a name")
  func markedName() throws {
    let folder = try ImportFolder()
    let csv = "\"\u{FEFF}a\",\u{FEFF}b\n1,2\n"
    try folder.importCSV(csv)
    #expect(try folder.exportText() == csv)
    let other = try ImportFolder()
    try other.importCSV(folder.export())
    #expect(try other.exportText() == csv)
  }

  @Test("One byte that has to be quoted is seen wherever it is")
  func places() {
    for count in 0..<200 {
      var bytes = [UInt8](repeating: 0x61, count: count + 8)
      func arePlain() -> Bool {
        bytes.withUnsafeBytes { CSVField.arePlain(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      }
      // The bytes behind the values do not belong to them.
      for index in count..<count + 8 { bytes[index] = 0x22 }
      #expect(arePlain(), "\(count) bytes")
      var unseen: [String] = []
      for place in 0..<count {
        for special in [0x22, 0x2C, 0x0A, 0x0D] as [UInt8] {
          bytes[place] = special
          if arePlain() { unseen.append("byte \(special) at \(place) of \(count)") }
        }
        bytes[place] = 0x61
      }
      #expect(unseen == [])
    }
  }

  private func exporters() throws -> [TableExporter] {
    var exporters: [TableExporter] = []
    for format in TableExporter.Format.allCases {
      var exporter = TableExporter()
      exporter.format = format
      exporters.append(exporter)
      exporter.columns = ["plain", "int"]
      exporter.hasHeader = false
      exporters.append(exporter)
      exporter.query.offset = 777
      exporter.limit = 2501
      exporters.append(exporter)
      exporter.columns = nil
      exporter.query.filter = try Predicate("int > 1000 and plain is not null")
      exporters.append(exporter)
      exporter.limit = 3
      exporters.append(exporter)
      exporter.query.sort = [.init("plain"), .init("int", descending: true)]
      exporter.limit = 800
      exporters.append(exporter)
      exporter = TableExporter()
      exporter.format = format
      exporter.columns = ["bool", "few, \"odd\""]
      exporter.query.isDistinct = true
      exporters.append(exporter)
    }
    return exporters
  }

  @Test(
    "Several threads write what one does, and that is what is stored",
    arguments: Effort.seeds(1..<3))
  func twins(seed: UInt64) throws {
    let folder = try ImportFolder()
    let database = try Self.database(
      folder.database, rows: seed == 1 || Effort.isShort ? 3000 : 9000, seed: seed)
    for compacted in [false, true] {
      if compacted { _ = try database.compact() }
      let table = try database.snapshot().table("t")
      for (number, exporter) in try exporters().enumerated() {
        let expected = try Self.twin(exporter, table)
        let rows = try exporter.query.count(in: table)
        for (threads, pieceBytes) in [(1, 1 << 24), (2, 1 << 24), (3, 1 << 24), (2, 100_000)] {
          var exporter = exporter
          exporter.threads = threads
          exporter.pieceBytes = pieceBytes
          var written: [UInt8] = []
          let count = try exporter.run(table) { written += Array($0) }
          #expect(
            written == expected && count == rows,
            "seed \(seed), exporter \(number), \(threads) threads, \(pieceBytes) bytes")
        }
      }
    }
    try database.close()
  }

  /// The error that the closure of an export throws.
  private struct Full: Error {}

  @Test("What is thrown while bytes are handed on ends all threads")
  func failures() throws {
    let folder = try ImportFolder()
    let database = try Self.database(folder.database, rows: 20_000, seed: 4)
    let table = try database.snapshot().table("t")
    var exporter = TableExporter()
    for (threads, allowed) in [(1, 0), (1, 1), (1, 3), (3, 0), (3, 1), (3, 2), (3, 3)] {
      exporter.threads = threads
      var calls = 0
      #expect(throws: Full.self) {
        try exporter.run(table) { _ in
          calls += 1
          if calls > allowed { throw Full() }
        }
      }
      #expect(calls == allowed + 1, "\(threads) threads")
    }
    try database.close()
  }

  @Test(
    "Damage is told where it is, behind all rows before it", arguments: [false, true])
  func damage(isCompacted: Bool) throws {
    let folder = try ImportFolder()
    let database = try Self.database(folder.database, rows: 20_000, seed: 5)
    if isCompacted { _ = try database.compact() }
    try database.close()
    let sound = try folder.read("t.sheaf")
    var random = SplitMix64(seed: 7)
    var damaged = 0
    for _ in 0..<12 {
      let place = Int.random(in: 0..<sound.count - 100, using: &random)
      var bytes = sound
      for offset in place..<place + 100 { bytes[offset] ^= 0xFF }
      try folder.write("t.sheaf", bytes)
      // The damage may be where the version is found, or where nothing is.
      guard let database = try? Database.open(folder.database, options: .init(access: .readOnly))
      else { continue }
      let table = try database.snapshot().table("t")
      // Selecting rows reads leaves before any of their rows are handed over.
      var some = Query()
      some.filter = try Predicate("int > 1000 and plain is not null")
      for query in [Query(), some] {
        if try Self.isToldBehindRows(table, query, "damage at \(place)") { damaged += 1 }
      }
      try database.close()
    }
    #expect(damaged > 6, "of 24 exports \(damaged) met damage")
  }

  /// Compares exports of a damaged table, on one thread and on several, with that of the rows before the
  /// damage.
  ///
  /// - Returns: false if the table can be read.
  private static func isToldBehindRows(
    _ table: Table, _ query: Query, _ place: String
  ) throws -> Bool {
    let reader = try ResultReader(query, table)
    let leaves = reader.windowReader()
    var rows = 0
    let isSound: Void? = try? reader.walkChosenLeaves { leaf, chosen in
      var found = 0
      try leaves.read(leaf, chosen, withKeys: false) { window, _ in found += window.count }
      rows += found
      return true
    }
    if isSound != nil { return false }
    var before = TableExporter()
    before.query = query
    before.limit = rows
    before.threads = 1
    var expected: [UInt8] = []
    try before.run(table) { expected += Array($0) }
    for threads in [1, 3] {
      for pieceBytes in [16 << 20, 1 << 10] {
        var exporter = TableExporter()
        exporter.query = query
        exporter.threads = threads
        exporter.pieceBytes = pieceBytes
        var written: [UInt8] = []
        let error = #expect(throws: EngineError.self, "\(place)") {
          try exporter.run(table) { written += Array($0) }
        }
        let text = String(describing: error)
        #expect(text.contains("damaged"), "\(place): \(text)")
        #expect(written == expected, "\(place), \(threads) threads: \(rows) rows before")
      }
    }
    return true
  }

  @Test("A first field that begins with U+FEFF is no byte-order mark", arguments: [1, 20_000])
  func marks(rows: Int) throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let mark = "\u{FEFF}"
    let firsts: [(value: Value, field: String)] = [
      (.text(mark), "\"\(mark)\""), (.text(mark + "a b"), "\"\(mark)a b\""),
      (.text(mark + "a,b"), "\"\(mark)a,b\""), (.text("a" + mark), "a" + mark), (.null, ""),
      (
        .text(mark + String(repeating: "y", count: 3_000_000)),
        "\"\(mark)" + String(repeating: "y", count: 3_000_000) + "\""
      ),
    ]
    for columns in 1...2 {
      for (number, first) in firsts.enumerated() {
        let name = "t\(columns)\(number)"
        let rest = columns == 2 ? ",\(mark)" : ""
        try database.write { transaction in
          try transaction.createTable(
            name, columns: [Column("a", .text), Column("b", .text)].prefix(columns).map(\.self))
          let table = try transaction.table(name)
          _ = try table.insert([first.value, .text(mark)].prefix(columns).map(\.self))
          for _ in 1..<rows {
            _ = try table.insert([.text(mark), .text(mark)].prefix(columns).map(\.self))
          }
        }
        var exporter = TableExporter()
        exporter.hasHeader = false
        for threads in [1, 2] {
          exporter.threads = threads
          var bytes: [UInt8] = []
          try exporter.run(database.snapshot().table(name)) { bytes += $0 }
          let others = String(repeating: "\(mark)\(rest)\n", count: rows - 1)
          #expect(
            bytes == Array("\(first.field)\(rest)\n\(others)".utf8), "\(name), \(threads) threads")
        }
        exporter.format = .jsonl
        var json: [UInt8] = []
        try exporter.run(database.snapshot().table(name)) { json += $0 }
        #expect(json.first == UInt8(ascii: "{"))
      }
    }
    try database.close()
  }
}
