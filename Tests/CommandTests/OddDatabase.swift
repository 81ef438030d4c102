import Engine
import Foundation
import Importer
import Testing
import TestSupport

/// A database with a varied history: nulls, exceptions, gaps between keys, columns that old clusters
/// lack, a tree of three levels.
enum OddDatabase {
  static func make(at path: String, in folder: TemporaryFolder, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
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

  private static func line(_ row: Int, _ random: inout SplitMix64) -> String {
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

  private static func edit(_ path: String, _ random: inout SplitMix64) throws {
    var options = Database.Options()
    options.limits.nodeCapacity = 3
    options.limits.clusterRows = 200
    options.limits.overlayFrom = 0
    // The first changes are written as clusters, later ones as overlays.
    options.limits.overlayBytes = 0...0
    var database = try Database.open(path, options: options)
    try database.write { transaction in
      let table = try transaction.table("odd")
      // It keeps the object that `damage` searches.
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
    // Stored column by column: a column, then that and another one.
    for column in ["name", "word"] {
      try database.write { transaction in
        let table = try transaction.table("odd")
        for key in 1300...1389 where try table.row(forKey: Int64(key)) != nil {
          let text: Value = key % 9 == 0 ? .null : .text("\(column) \(key % 5)")
          try table.update(Int64(key), [column: text])
        }
      }
    }
    try database.write { transaction in
      let table = try transaction.table("odd")
      try table.editor.addColumn(Column("raw", .data))
      for count in 0..<300 {
        let raw = (0..<count % 7).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        try table.insert(["raw": .data(raw), "money": .double(Double(count) / 8)])
      }
      // Rows that were changed before the column was added, too.
      for key in [1402, 1407] where try table.row(forKey: Int64(key)) != nil {
        try table.update(Int64(key), ["raw": .data([0, 1, 2])])
      }
    }
    try database.close()
  }
}
