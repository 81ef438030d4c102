import Engine
import Foundation
import Importer
import Testing
import TestSupport

/// `scripts/sheaf-dump` is written from `docs/file-format.md` alone. The page is right as long as it
/// reads from a file what the engine reads.
@Suite("The document of the file format", .enabled(if: Python.isThere))
struct FormatDocumentTests {
  @Test("A reader written from the document reads what the engine reads")
  func agreement() throws {
    let folder = TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 1)
    let before = try read(path, "odd")
    #expect(before.walk.contains("tree of 3 levels"))
    let overlays = before.walk.split(separator: "\n").filter { $0.hasPrefix("  overlay") }
    #expect(overlays.contains { !$0.contains(" 0 deleted") && !$0.contains(" 0 changed") })
    #expect(overlays.contains { $0.hasSuffix("by columns") })
    #expect(overlays.contains { $0.hasSuffix("changed") })
    try compact(path)
    let after = try read(path, "odd")
    #expect(before.table == after.table)
  }

  @Test("Every encoding, in every form that the document knows, imported and compacted")
  func forms() throws {
    let folder = TemporaryFolder()
    let path = folder.path("forms.sheaf")
    let csv = FormsDatabase.csv(seed: 4)
    try folder.write("forms.csv", Array(csv.utf8))
    var options = ImportOptions(inputs: [folder.path("forms.csv")], database: path)
    options.compaction.mode = .never
    #expect(try Importer.run(options).imported == FormsDatabase.rowCount)
    let imported = try read(path, "forms")
    #expect(imported.table == csv)
    try compact(path)
    let compacted = try read(path, "forms")
    #expect(compacted.table == csv)
    let forms = imported.forms.union(compacted.forms)
    let missing = FormsDatabase.wanted.subtracting(forms).sorted()
    #expect(missing.isEmpty, "these are not tried: \(missing)")
  }

  @Test("Compressed strings in the forms of today's and of older files")
  func formsOfCompressedStrings() throws {
    // The codes of the document's examples; the engine writes none of the forms 0 and 12.
    let program = """
      import runpy, struct, sys
      dump = runpy.run_path(sys.argv[1])

      def read(table, *codes):
          least = min(map(len, codes))
          lengths = bytes(len(code) - least for code in codes)
          head = struct.pack("<IIBB", sum(map(len, codes)), least, 8, 0)
          cursor = dump["Cursor"](table + head + lengths + b"".join(codes), "strings")
          texts = dump["compressed_strings"](cursor, len(codes), [])
          assert cursor.at == len(cursor.data)
          return b" ".join(texts).decode()

      def coded(form, most):
          counts = [0] * 5 * most
          counts[0], counts[1], counts[4 * most + 2] = 1, 1, 1
          return bytes([form, 8]) + struct.pack(f"<{5 * most}H", *counts) + b"abcdef"

      print(read(coded(16, 16), b"\\x20\\x1f", b"", b"\\x01"))
      print(read(coded(0, 8), b"\\x20\\x1f", b"", b"\\x01"))
      print(read(struct.pack("<B8H", 12, 0, 1, *[0] * 6) + b"th", (256 | 101 << 12).to_bytes(3, "little")))
      print(read(struct.pack("<B8H", 8, 1, 1, *[0] * 6) + b"eth", b"\\x01\\x00\\xff\\x21"))
      """
    let result = try Python.run(["-c", program, Repository.path("scripts/sheaf-dump")])
    #expect(result.outputText == "defbc  abc\ndefbc  abc\nthe\nthe!\n", "\(result.errorText)")
  }

  @Test("The sample, imported and compacted")
  func sample() throws {
    let folder = TemporaryFolder()
    let path = folder.path("sample.sheaf")
    var options = ImportOptions(
      inputs: [Repository.path("samples/googleplaystore.csv")], database: path)
    // Enough rows for names whose codes have 12 bits.
    options.limit = 9000
    options.compaction.mode = .never
    #expect(try Importer.run(options).imported == 9000)
    let imported = try read(path, "googleplaystore")
    try compact(path)
    let compacted = try read(path, "googleplaystore")
    #expect(imported.table == compacted.table)
  }

  @Test("The index of a primary key")
  func keys() throws {
    let folder = TemporaryFolder()
    let path = folder.path("keys.sheaf")
    try makeKeys(at: path)
    let before = try read(path, "keys")
    #expect(before.walk.contains("  key id, "))
    #expect(!before.walk.contains("  key id, 1 runs"))
    try compact(path)
    let after = try read(path, "keys")
    #expect(after.walk.contains("  key id, 1 runs of 1120 entries"))
    #expect(before.table == after.table)
  }

  @Test(
    "Keys of several columns, with a version that is kept and something pending; compacted, too")
  func compoundKeys() throws {
    let folder = TemporaryFolder()
    let path = folder.path("compound.sheaf")
    let database = try Database.open(path)
    let columns = [Column("n", .int), Column("text", .text), Column("x", .double)]
    func insert(_ range: Range<Int>, _ table: WritableTable) throws {
      for row in range {
        try table.insert([.int(Int64(row % 7)), .text("t\(row / 7)"), .double(Double(row))])
      }
    }
    try database.write { transaction in
      try transaction.createTable("one", columns: columns, key: "x")
      try transaction.createTable("two", columns: columns, keys: ["text", "n"], indexes: ["x"])
      try insert(0..<1000, transaction.table("two"))
      try insert(0..<10, transaction.table("one"))
    }
    for (format, change) in [
      (4, nil), (5, { try $0.tag("kept") }),
      (6, { try insert(1000..<1300, $0.beginPending("two")) }),
    ] as [(UInt32, ((borrowing WriteTransaction) throws -> Void)?)] {
      if let change { try database.write { try change($0) } }
      for isCompacted in [false, true] {
        if isCompacted { #expect(try database.compact().decision == .compacted) }
        try database.flush()
        #expect(try database.snapshot().record.format == format)
        let walk = try Python.dump([path])
        #expect(walk.status == 0, "\(walk.errorText)")
        #expect(walk.outputText.contains("  key text, n, "), "\(walk.outputText)")
        #expect(walk.outputText.contains("  key x, "))
      }
    }
    try database.close()
  }

  @Test("Secondary indexes of columns of all types")
  func indexes() throws {
    let folder = TemporaryFolder()
    let path = folder.path("indexes.sheaf")
    try makeIndexes(at: path)
    let before = try read(path, "values")
    #expect(before.walk.contains("  index text, "))
    #expect(!before.walk.contains("  index text, 1 runs"))
    try compact(path)
    let after = try read(path, "values")
    for type in ColumnType.allCases {
      #expect(after.walk.contains("  index \(type.name), 1 runs of 560 entries"), "\(after.walk)")
    }
    #expect(before.table == after.table)
  }

  @Test(
    "A pending table, beside one that was changed since, and one that is to come; compacted, too")
  func pendingTables() throws {
    let folder = TemporaryFolder()
    let path = folder.path("pending.sheaf")
    let database = try Database.open(path)
    let columns = [Column("id", .int), Column("text", .text)]
    try database.write { transaction in
      try transaction.createTable("a", columns: columns, key: "id", indexes: ["text"])
      for row in 0..<3000 {
        try transaction.table("a").insert([.int(Int64(row)), .text("text \(row * 31 % 700)")])
      }
    }
    try database.write { transaction in
      let table = try transaction.beginPending("a", describedAs: "a test")
      for key in stride(from: 1, to: 3000, by: 301) {
        try table.update(Int64(key), ["text": .text("changed")])
      }
      try table.insert(["id": .int(10_000)])
      let new = try transaction.beginPending("b", creating: columns, keys: ["id"])
      try new.insert(["id": .int(1)])
    }
    try database.write { try $0.table("a").update(5, ["text": .text("by somebody else")]) }
    func text() throws -> String {
      var bytes: [UInt8] = []
      let snapshot = try #require(try database.pendingSnapshot(of: "a"))
      try TableExporter().run(snapshot.table("a")) { bytes.append(contentsOf: $0) }
      return String(decoding: bytes, as: UTF8.self)
    }
    let before = try text()
    for isCompacted in [false, true] {
      if isCompacted { #expect(try database.compact().decision == .compacted) }
      #expect(try text() == before)
      let walk = try Python.dump([path])
      #expect(walk.status == 0, "\(walk.errorText)")
      #expect(walk.outputText.contains("3001 objects, made by 'a test'"))
      #expect(walk.outputText.split(separator: "\n").count { $0.hasPrefix("pending table ") } == 2)
      #expect(try Python.dump([path, "--pending", "a"]).outputText == before)
    }
    try database.close()
  }

  private func makeIndexes(at path: String) throws {
    var random = SplitMix64(seed: 9)
    var options = Database.Options()
    options.indexLimits.leafEntries = 20
    options.indexLimits.nodeCapacity = 4
    options.indexLimits.recentEntries = 200
    options.indexLimits.smallestRun = 20
    let database = try Database.open(path, options: options)
    let columns = ColumnType.allCases.map { Column($0.name, $0) }
    try database.write {
      try $0.createTable("values", columns: columns, indexes: columns.map(\.name))
    }
    func value(_ type: ColumnType) -> Value {
      let number = random.next()
      if number % 9 == 0 { return .null }
      let isFew = number % 3 == 0
      switch type {
      case .int: return .int(isFew ? Int64(number % 5) : Int64(bitPattern: random.next()))
      case .double:
        let doubles = [
          0, -0.0, .nan, .infinity, -.infinity, 4.5, -4.5, .leastNonzeroMagnitude, 0.1,
        ]
        return .double(
          isFew ? doubles[Int(number >> 8) % 9] : Double(random.next() >> 40) / 8 - 9e5)
      case .bool: return .bool(isFew)
      case .date:
        let day = isFew ? Int(number % 4) : Int(random.next() % 3_652_425) - 719_528
        return CalendarDate(daysSince1970: day).map { .date($0) } ?? .null
      case .dateTime:
        let second = Int64(random.next() % 60_000_000_000) - 30_000_000_000
        return DateTime(microsecondsSince1970: second * 1_000_000 + (isFew ? 0 : 250_000))
          .map { .dateTime($0) } ?? .null
      case .time:
        let microseconds = Int64(random.next() % 86_400) * 1_000_000 + (isFew ? 0 : 250_000)
        return TimeOfDay(microseconds: microseconds).map { .time($0) } ?? .null
      case .decimal:
        let digits = Int128(Int64(bitPattern: random.next())) << (isFew ? 60 : 0)
        return ExactDecimal(coefficient: isFew ? digits : digits / 7, scale: Int(number >> 8) % 39)
          .map { .decimal($0) } ?? .decimal(.zero)
      case .uuid:
        let bits = isFew ? 5 : UInt128(random.next()) << 64 | UInt128(random.next())
        return .uuid(UniqueIdentifier(bits: bits))
      case .text:
        return .text(isFew ? ["", "a", "GAME", "日本"][Int(number >> 8) % 4] : "t\(number)")
      case .data: return .data(isFew ? [0, 0] : [UInt8(number >> 8 & 255), 255, 0, 1, 2])
      }
    }
    for round in 0..<6 {
      try database.write { transaction in
        let table = try transaction.table("values")
        for _ in 0..<100 { try table.insert(columns.map { value($0.type) }) }
        for key in 0..<20 {
          let column = columns[key % columns.count]
          try table.update(Int64(round * 100 + 15 + key), [column.name: value(column.type)])
        }
        for key in 0..<10 where round < 4 { try table.delete(Int64(round * 100 + 3 + key * 7)) }
      }
    }
    try database.close()
  }

  @Test("Defaults, columns that were removed, and the version of a schema")
  func schema() throws {
    let folder = TemporaryFolder()
    let path = folder.path("schema.sheaf")
    var options = Database.Options()
    options.limits.overlayFrom = 0
    let columns = [Column("a", .int), Column("gone", .text), Column("b", .date)]
    options.schema = Schema(version: 1, tables: [TableDefinition("old", columns: columns)])
    var database = try Database.open(path, options: options)
    try database.write { transaction in
      let table = try transaction.table("old")
      for row in 0..<700 { try table.insert(["a": .int(Int64(row)), "gone": .text("x\(row)")]) }
    }
    // Changed rows that are in overlays when columns are added and removed.
    try database.write { transaction in
      for key in [3, 100, 400] as [Int64] {
        try transaction.table("old").update(key, ["gone": .text("y")])
      }
    }
    try database.close()
    options.schema?.version = 70_000
    options.schema?.tables = [
      TableDefinition(
        "schema",
        columns: [
          Column("a", .double, default: .double(.nan)), Column("b", .text),
          Column("c", .text, nullable: false, default: .text("né")),
          Column("d", .double, default: .double(1.5), notation: try Notation(.double, ["1.234,5"])),
          Column("e", .date, notation: try Notation(.date, ["%d/%m/%Y", "%B %d, %Y"])),
        ])
    ]
    let added = options.schema?.tables[0].columns.suffix(2).map { $0 } ?? []
    options.schema?.tables[0].indexes = ["d"]
    options.migration = { transaction, _ in
      try transaction.renameTable("old", to: "schema")
      let table = try transaction.table("schema")
      try table.removeColumn("gone")
      try table.widenColumn("a", to: .double)
      try table.widenColumn("b", to: .text)
      try table.setDefault("a", .double(.nan))
      try table.addColumn(Column("c", .text, nullable: false, default: .text("né")))
      for column in added { try table.addColumn(column) }
      try table.addIndex("d")
      try table.update(7, ["d": .double(1234.25)])
      for key in [3, 5] as [Int64] { try table.update(key, ["c": .text("other")]) }
    }
    database = try Database.open(path, options: options)
    try database.close()
    let before = try read(path, "schema")
    #expect(before.walk.contains("schema version 70000\n"))
    #expect(before.walk.contains("not null c, default b'n\\xc3\\xa9'"))
    #expect(before.walk.contains(", default b'NaN'"))
    #expect(before.walk.contains("d, spelled 1.234,5, default b'1,5'\n"))
    #expect(before.walk.contains("e, spelled %d/%m/%Y or %B %d, %Y\n"))
    try compact(path)
    let after = try read(path, "schema")
    #expect(before.table == after.table)
    #expect(!after.walk.contains("    column   2"))
  }

  private func makeKeys(at path: String) throws {
    var random = SplitMix64(seed: 8)
    var options = Database.Options()
    options.indexLimits.leafEntries = 50
    options.indexLimits.nodeCapacity = 4
    options.indexLimits.recentEntries = 500
    options.indexLimits.smallestRun = 20
    let database = try Database.open(path, options: options)
    let columns = [Column("x", .int), Column("id", .text)]
    try database.write { try $0.createTable("keys", columns: columns, key: "id") }
    for round in 0..<12 {
      try database.write { transaction in
        let table = try transaction.table("keys")
        for row in 0..<100 {
          let number = round * 100 + row
          let id =
            switch row % 4 {
            case 0: "\(number)"
            case 1: "-\(random.next() >> 10)"
            case 2: "\(random.next())0"
            default: "name \(random.next())" + String(repeating: "é", count: row % 9)
            }
          try table.insert([.int(Int64(row)), .text(id)])
        }
        for key in 0..<10 {
          try table.update(Int64(round * 100 + 15 + key), ["id": .text("+\(round)\(key)")])
        }
        for key in 0..<10 where round < 8 { try table.delete(Int64(round * 100 + 3 + key * 7)) }
      }
    }
    try database.close()
  }

  @Test("It refuses a block whose bytes have changed")
  func damage() throws {
    let folder = TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 3)
    var bytes = try folder.read("odd.sheaf")
    let name = Array("a name to be found".utf8)
    // Copies of earlier versions in free pages are changed, too.
    let places = bytes.indices.filter { bytes[$0...].starts(with: name) }
    try #require(!places.isEmpty, "the text is not in the file")
    for place in places { bytes[place] ^= 1 }
    try folder.write("odd.sheaf", bytes)
    let walk = try Python.dump([path])
    #expect(walk.status == 1)
    #expect(walk.errorText.contains("checksum"))
  }

  private struct Dump {
    /// The reader's account of every block and column.
    let walk: String
    let table: String
    /// The encodings of columns, and `encoding/form` for each of their forms.
    var forms: Set<String> = []
  }

  /// Reads the file with the second reader, and expects what the engine exports.
  private func read(_ path: String, _ table: String) throws -> Dump {
    let walk = try Python.dump([path, "--blocks"])
    #expect(walk.status == 0, "\(walk.errorText)")
    #expect(walk.outputText.contains("sound: version"))
    let csv = try Python.dump([path, "--csv", table])
    #expect(csv.status == 0, "\(csv.errorText)")

    let database = try Database.open(path, options: .init(access: .readOnly))
    var exported: [UInt8] = []
    try TableExporter().run(try database.snapshot().table(table)) {
      exported.append(contentsOf: $0)
    }
    let encodings = Set(try database.tableUse(table).columns.flatMap(\.encodings.keys))
    try database.close()
    let isSame = csv.outputText == String(decoding: exported, as: UTF8.self)
    #expect(isSame, "the reader and the engine differ on '\(table)'")

    var reading = Dump(walk: walk.outputText, table: csv.outputText)
    for line in walk.outputText.split(separator: "\n") where line.hasPrefix("    column") {
      let parts = line.split(separator: " bytes  ").last?.split(separator: ", ") ?? []
      guard let encoding = parts.first else { continue }
      reading.forms.insert(String(encoding))
      for part in parts.dropFirst() {
        let isNulls = part.hasSuffix(" nulls")
        reading.forms.insert("\(encoding)/\(isNulls ? "nulls" : part)")
        if isNulls, parts.count > 2 { reading.forms.insert("\(encoding)/\(parts[1])/nulls") }
      }
    }
    // The walk also has the columns of the list of import runs.
    #expect(encodings.isSubset(of: reading.forms))
    return reading
  }

  private func compact(_ path: String) throws {
    let database = try Database.open(path)
    #expect(try database.compact().decision == .compacted)
    try database.close()
  }
}
