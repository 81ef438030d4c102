import Engine
import Foundation
import Importer
import Testing
import TestSupport

/// `docs/file-format.md` is right as long as a reader written from it alone, `scripts/sheaf-dump`,
/// reads the same from a file as the engine does.
@Suite("The document of the file format", .enabled(if: Python.isThere))
struct FormatDocumentTests {
  @Test("A reader written from the document reads what the engine reads")
  func agreement() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 1)
    let before = try read(path, "odd", in: folder)
    #expect(before.walk.contains("tree of 3 levels"))
    let overlays = before.walk.split(separator: "\n").filter { $0.hasPrefix("  overlay") }
    #expect(overlays.contains { !$0.contains(" 0 deleted") && !$0.contains(" 0 changed") })
    try compact(path)
    let after = try read(path, "odd", in: folder)
    #expect(before.table == after.table)
  }

  @Test("Every encoding, in every form that the document knows, imported and compacted")
  func forms() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("forms.sheaf")
    let csv = FormsDatabase.csv(seed: 4)
    try folder.write("forms.csv", Array(csv.utf8))
    var options = ImportOptions(inputs: [folder.path("forms.csv")], database: path)
    options.compaction.mode = .never
    #expect(try Importer.run(options).imported == FormsDatabase.rowCount)
    let imported = try read(path, "forms", in: folder)
    #expect(imported.table == csv)
    try compact(path)
    let compacted = try read(path, "forms", in: folder)
    #expect(compacted.table == csv)
    let forms = imported.forms.union(compacted.forms)
    let missing = FormsDatabase.wanted.subtracting(forms).sorted()
    #expect(missing.isEmpty, "these are not tried: \(missing)")
  }

  @Test("The sample, imported and compacted")
  func sample() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("sample.sheaf")
    var options = ImportOptions(
      inputs: [Repository.path("samples/googleplaystore.csv")], database: path)
    // Enough for names whose codes have 12 bits.
    options.limit = 9000
    options.compaction.mode = .never
    #expect(try Importer.run(options).imported == 9000)
    let imported = try read(path, "googleplaystore", in: folder)
    try compact(path)
    let compacted = try read(path, "googleplaystore", in: folder)
    #expect(imported.table == compacted.table)
  }

  @Test("The index of a primary key")
  func keys() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("keys.sheaf")
    try makeKeys(at: path)
    let before = try read(path, "keys", in: folder)
    #expect(before.walk.contains("  key id, "))
    #expect(!before.walk.contains("  key id, 1 runs"))
    try compact(path)
    let after = try read(path, "keys", in: folder)
    #expect(after.walk.contains("  key id, 1 runs of 1120 entries"))
    #expect(before.table == after.table)
  }

  @Test("Secondary indexes of columns of all types")
  func indexes() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("indexes.sheaf")
    try makeIndexes(at: path)
    let before = try read(path, "values", in: folder)
    #expect(before.walk.contains("  index text, "))
    #expect(!before.walk.contains("  index text, 1 runs"))
    try compact(path)
    let after = try read(path, "values", in: folder)
    for type in ColumnType.allCases {
      #expect(after.walk.contains("  index \(type.name), 1 runs of 560 entries"), "\(after.walk)")
    }
    #expect(before.table == after.table)
  }

  private func makeIndexes(at path: String) throws {
    var random = SeededRandom(state: 9)
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
    let folder = try TemporaryFolder()
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
    // Changes that lie in overlays when columns come and go.
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
    let before = try read(path, "schema", in: folder)
    #expect(before.walk.contains("schema version 70000\n"))
    #expect(before.walk.contains("not null c, default b'n\\xc3\\xa9'"))
    #expect(before.walk.contains(", default b'NaN'"))
    #expect(before.walk.contains("d, spelled 1.234,5, default b'1,5'\n"))
    #expect(before.walk.contains("e, spelled %d/%m/%Y or %B %d, %Y\n"))
    try compact(path)
    let after = try read(path, "schema", in: folder)
    #expect(before.table == after.table)
    #expect(!after.walk.contains("    column   2"))
  }

  private func makeKeys(at path: String) throws {
    var random = SeededRandom(state: 8)
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
    let folder = try TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 3)
    var bytes = try folder.read("odd.sheaf")
    let name = Array("a name to be found".utf8)
    // Earlier versions' copies, in free pages, are changed too.
    let places = bytes.indices.filter { bytes[$0...].starts(with: name) }
    try #require(!places.isEmpty, "the text is not in the file")
    for place in places { bytes[place] ^= 1 }
    try folder.write("odd.sheaf", bytes)
    let walk = try Python.dump([path], in: folder)
    #expect(walk.status == 1)
    #expect(walk.error.contains("checksum"))
  }

  private struct Reading {
    /// The reader's account of every block and column.
    let walk: String
    let table: String
    /// The encodings of columns, and `encoding/form` for what else is said of them.
    var forms: Set<String> = []
  }

  /// Reads the file by the document, and expects what the engine exports.
  private func read(_ path: String, _ table: String, in folder: TemporaryFolder) throws -> Reading {
    let walk = try Python.dump([path, "--blocks"], in: folder)
    #expect(walk.status == 0, "\(walk.error)")
    #expect(walk.output.contains("sound: version"))
    let csv = try Python.dump([path, "--csv", table], in: folder)
    #expect(csv.status == 0, "\(csv.error)")

    let database = try Database.open(path, options: .init(access: .readOnly))
    var exported: [UInt8] = []
    try TableExporter().run(try database.snapshot().table(table)) {
      exported.append(contentsOf: $0)
    }
    let encodings = Set(try database.tableUse(table).columns.flatMap(\.encodings.keys))
    try database.close()
    let isSame = csv.output == String(decoding: exported, as: UTF8.self)
    #expect(isSame, "the reader and the engine differ on '\(table)'")

    var reading = Reading(walk: walk.output, table: csv.output)
    for line in walk.output.split(separator: "\n") where line.hasPrefix("    column") {
      let parts = line.split(separator: " bytes  ").last?.split(separator: ", ") ?? []
      guard let encoding = parts.first else { continue }
      reading.forms.insert(String(encoding))
      for part in parts.dropFirst() {
        let isNulls = part.hasSuffix(" nulls")
        reading.forms.insert("\(encoding)/\(isNulls ? "nulls" : part)")
        if isNulls, parts.count > 2 { reading.forms.insert("\(encoding)/\(parts[1])/nulls") }
      }
    }
    #expect(encodings == reading.forms.filter { !$0.contains("/") })
    return reading
  }

  private func compact(_ path: String) throws {
    let database = try Database.open(path)
    #expect(try database.compact().decision == .compacted)
    try database.close()
  }
}

/// A database with an eventful life: nulls, exceptions, gaps between keys, columns that old clusters
/// lack, a tree of three levels.
private enum OddDatabase {
  static func make(at path: String, in folder: TemporaryFolder, seed: UInt64) throws {
    var random = SeededRandom(state: seed)
    var csv = "whole,money,double,day,moment,local,word,name,same,nothing\n"
    for row in 0..<2000 {
      csv += line(row, &random)
    }
    try folder.write("odd.csv", Array(csv.utf8))
    var options = ImportOptions(inputs: [folder.path("odd.csv")], database: path)
    options.types = .named(["whole": .text, "double": .text])
    options.compaction.mode = .never
    let report = try Importer.run(options)
    #expect(report.imported == 2000)
    try edit(path, &random)
  }

  private static func line(_ row: Int, _ random: inout SeededRandom) -> String {
    func orNull(_ text: String) -> String { random.next() % 11 == 0 ? "" : text }
    let whole = row % 40 == 39 ? ["+5", "007", "1e3", "9999999999"][row / 40 % 4] : "\(row * 3)"
    let money = "\(random.next() % 50).\(random.next() % 10)"
    let double = Double(bitPattern: random.next() & 0xBFFF_FFFF_FFFF_FFFF).description
    let day = CalendarDate(daysSince1970: Int(random.next() % 3_000_000) - 700_000)
    let moment = DateTime(microsecondsSince1970: Int64(random.next() % (1 << 45)) - 1 << 44)
    let local = "2018-0\(row % 9 + 1)-11 0\(row % 7):1\(row % 6):07.\(100 + row % 900)+05:30"
    let word = ["red", "green", "blue, too"][Int(random.next() % 3)]
    let name = row == 77 ? "a name to be found" : "n\(random.next())\(row % 5 == 0 ? "\"\n" : "")"
    let fields = [
      orNull(whole), orNull(money + (row % 3 == 0 ? "5" : "")), orNull(double),
      orNull(day?.description ?? ""), orNull(moment?.description ?? ""), orNull(local),
      orNull("\"\(word)\""), "\"\(name.replacing("\"", with: "\"\""))\"", "same", "",
    ]
    return fields.joined(separator: ",") + "\n"
  }

  private static func edit(_ path: String, _ random: inout SeededRandom) throws {
    var options = Database.Options()
    options.limits.nodeCapacity = 3
    options.limits.clusterRows = 200
    options.limits.overlayFrom = 0
    // What changes first is written as clusters, what changes then as overlays.
    options.limits.overlayBytes = 0...0
    var database = try Database.open(path, options: options)
    try database.write { transaction in
      let table = try transaction.table("odd")
      // The object that `damage` looks for stays.
      for key in 1...2000 where random.next() % 5 == 0 && key != 78 {
        try table.delete(Int64(key))
      }
      for key in 1001...1100 where try table.row(forKey: Int64(key)) != nil {
        try table.update(Int64(key), ["name": .null, "word": .text("")])
      }
    }
    try database.close()
    options.limits.overlayBytes = 20_000...20_000
    database = try Database.open(path, options: options)
    try database.write { transaction in
      let table = try transaction.table("odd")
      for key in 1390...1400 { try table.delete(Int64(key)) }
      for key in 1401...1420 where try table.row(forKey: Int64(key)) != nil {
        // Lengths of one byte and of two.
        let name = String(repeating: "é", count: key % 70)
        try table.update(Int64(key), ["name": .text(name), "nothing": .text("now something")])
      }
    }
    try database.write { transaction in
      let table = try transaction.table("odd")
      try table.editor.addColumn(Column("raw", .data))
      for count in 0..<300 {
        let raw = (0..<count % 7).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        try table.insert(["raw": .data(raw), "money": .double(Double(count) / 8)])
      }
      // Beside changes from before the column was there.
      for key in [1402, 1407] where try table.row(forKey: Int64(key)) != nil {
        try table.update(Int64(key), ["raw": .data([0, 1, 2])])
      }
    }
    try database.close()
  }
}

/// Columns made for each of the encodings and their forms.
private enum FormsDatabase {
  static let rowCount = 2500

  static let wanted: Set<String> = {
    var wanted = Set(ColumnEncoding.allCases.map(\.name))
    for form in ["plain", "deltas", "sized"] {
      for encoding in ["integers", "decimals", "dates", "date-times"] {
        wanted.insert("\(encoding)/\(form)")
      }
    }
    for form in ["packed", "first occurrences", "coded", "runs"] {
      wanted.formUnion(["dictionary/\(form)", "dictionary/\(form)/nulls"])
    }
    for style in 0..<dateStyles { wanted.insert("dates/style \(style)") }
    wanted.formUnion([
      "decimals/scales", "decimals/trimmed", "dictionary/symbols", "integers/nulls",
      "integers/exceptions", "dates/exceptions", "doubles/nulls", "packed text/nulls",
      "symbol text/nulls",
    ])
    return wanted
  }()

  static func csv(seed: UInt64) -> String {
    var random = SeededRandom(state: seed)
    var columns: [[String]] = []
    for style in 0..<dateStyles {
      columns.append(
        column("style \(style)") { row in
          row % 500 == 7 ? "no date" : spell(day: Int(random.next() % 1_400_000) - 700_000, style)
        })
    }
    columns += numbers(&random) + dates(&random) + strings(&random)
    var csv = ""
    for row in 0...rowCount {
      csv += columns.map { $0[row] }.joined(separator: ",") + "\n"
    }
    return csv
  }

  private static func column(_ name: String, _ value: (Int) -> String) -> [String] {
    [name] + (0..<rowCount).map(value)
  }

  /// A number of up to `bits` bits, small ones as frequent as large ones.
  private static func skewed(_ random: inout SeededRandom, bits: UInt64) -> Int64 {
    let size = random.next() % (bits + 1)
    return size == 0 ? 0 : Int64(random.next() >> (64 - size))
  }

  private static func numbers(_ random: inout SeededRandom) -> [[String]] {
    var ascending: Int64 = 1_000_000_007
    return [
      column("whole") { $0 % 9 == 4 ? "" : $0 % 400 == 2 ? "+5" : "\(random.next() % 100_003)" },
      column("deltas") { row in
        ascending += Int64(random.next() % 200) - 60
        return row % 50 == 3 ? "" : "\(ascending)"
      },
      column("sized") { $0 % 31 == 5 ? "" : "\(skewed(&random, bits: 60) - 1000)" },
      column("cents") { _ in spell(Int64(random.next() % 100_000), scale: 2) },
      column("cents with deltas") { row in
        spell(5_000_000 + Int64(row) * 37 + Int64(random.next() % 9), scale: 2)
      },
      column("cents of many sizes") { _ in spell(skewed(&random, bits: 50), scale: 2) },
      column("scales") { row in
        spell(Int64(random.next() % 10_000_000) * 10, scale: row % 2 == 0 ? 4 : 5)
      },
      column("trimmed") { _ in
        var (mantissa, scale) = (Int64(random.next() % 1_000_000) - 500_000, 3)
        while scale > 0 && mantissa % 10 == 0 { (mantissa, scale) = (mantissa / 10, scale - 1) }
        return spell(mantissa, scale: scale)
      },
      column("double") { row in
        let bits = random.next() & 0xBFFF_FFFF_FFFF_FFFF
        return row % 20 == 1 ? "" : Double(bitPattern: bits).description
      },
    ]
  }

  private static func spell(_ mantissa: Int64, scale: Int) -> String {
    if scale == 0 { return "\(mantissa)" }
    let digits = "\(mantissa.magnitude)"
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return (mantissa < 0 ? "-" : "") + padded.dropLast(scale) + "." + padded.suffix(scale)
  }

  private static let dateStyles = 10
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October",
    "November", "December",
  ]

  private static func spell(day: Int, _ style: Int) -> String {
    let iso = CalendarDate(daysSince1970: day)?.description ?? ""
    let parts = iso.split(separator: "-").map(String.init)
    guard parts.count == 3, let month = Int(parts[1]), let number = Int(parts[2]) else {
      return iso
    }
    let (year, name) = (parts[0], months[month - 1])
    return switch style {
    case 1: "\"\(name) \(number), \(year)\""
    case 2: "\"\(name.prefix(3)) \(number), \(year)\""
    case 3: "\(number) \(name) \(year)"
    case 4: "\(number) \(name.prefix(3)) \(year)"
    case 5: "\(parts[1])/\(parts[2])/\(year)"
    case 6: "\(parts[2])/\(parts[1])/\(year)"
    case 7: "\(parts[2]).\(parts[1]).\(year)"
    case 8: "\(year)/\(parts[1])/\(parts[2])"
    case 9: "\(parts[2])-\(name.prefix(3))-\(year)"
    default: iso
    }
  }

  private static func dates(_ random: inout SeededRandom) -> [[String]] {
    func moment(_ seconds: Int64) -> String {
      DateTime(microsecondsSince1970: seconds * 1_000_000)?.description ?? ""
    }
    return [
      column("days with deltas") { spell(day: $0 * 2 + Int(random.next() % 3), 7) },
      column("days of many sizes") { _ in spell(day: Int(skewed(&random, bits: 21)) - 3000, 0) },
      column("moments") { _ in moment(Int64(random.next() % (1 << 32))) },
      column("moments with deltas") { moment(Int64($0) * 60 + Int64(random.next() % 61)) },
      column("moments of many sizes") { _ in moment(skewed(&random, bits: 34)) },
    ]
  }

  private static func strings(_ random: inout SeededRandom) -> [[String]] {
    let syllables = ["ba", "lor", "em", "ip", "sum", "dol", "or", "sit", "a", "met", "con"]
    func prose(_ count: UInt64) -> String {
      (0..<count).map { _ in
        syllables[Int(random.next() % 11)] + (random.next() % 3 == 0 ? " " : "")
      }
      .joined()
    }
    func noise() -> String {
      String(decoding: (0..<7).map { _ in UInt8(0x61 + random.next() % 26) }, as: UTF8.self)
    }
    let phrases = (0..<300).map { "\(prose(6))\($0)" }
    func orNull(_ row: Int, _ text: String) -> String { row % 10 == 6 ? "" : text }
    return [
      column("same") { _ in "same" }, column("nothing") { _ in "" },
      column("packed") { _ in "w\(random.next() % 16)" },
      column("packed and null") { orNull($0, "w\(random.next() % 15)") },
      column("runs") { "section \($0 / 90)" },
      column("runs and null") { $0 / 40 % 5 == 2 ? "" : "part \($0 / 40)" },
      column("first") { $0 % 9 == 8 ? "again \($0 % 4)" : "x\(noise())\($0)" },
      column("first and null") { orNull($0, $0 % 9 == 8 ? "again \($0 % 4)" : "y\(noise())\($0)") },
      column("coded") { _ in "c\(skewed(&random, bits: 8))" },
      column("coded and null") { orNull($0, "c\(skewed(&random, bits: 8))") },
      column("mostly null") { $0 % 3 != 0 ? "" : "c\(skewed(&random, bits: 6))" },
      column("phrase") { _ in phrases[Int(skewed(&random, bits: 8))] },
      column("prose") { "\(prose(random.next() % 30)) é\($0)" },
      // A dictionary is smaller with many nulls, or if nulls made lengths take more bits.
      column("prose and null") { row in
        switch row % 500 {
        case 6: ""
        case 7: "\(row / 500)"
        default: "\(prose(random.next() % 30)) z\(row)"
        }
      },
      column("noise") { "\(noise().prefix(Int(random.next() % 7)))\(noise())\($0)" },
    ]
  }
}

/// SplitMix64, as published by Sebastiano Vigna.
private struct SeededRandom {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// Runs `scripts/sheaf-dump`.
private enum Python {
  struct Result {
    let status: Int32
    let output: String
    let error: String
  }

  static var isThere: Bool {
    ((ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")).contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/python3")
    }
  }

  static func dump(_ arguments: [String], in folder: TemporaryFolder) throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", Repository.path("scripts/sheaf-dump")] + arguments
    // Files rather than pipes: no limit on what the program prints before anybody reads.
    try folder.write("output", [])
    try folder.write("error", [])
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("output")))
    let error = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("error")))
    process.standardOutput = output
    process.standardError = error
    try process.run()
    process.waitUntilExit()
    try output.close()
    try error.close()
    return Result(
      status: process.terminationStatus,
      output: String(decoding: try folder.read("output"), as: UTF8.self),
      error: String(decoding: try folder.read("error"), as: UTF8.self))
  }
}
