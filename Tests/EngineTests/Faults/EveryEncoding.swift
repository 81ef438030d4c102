@testable import Engine

/// Fills a small database so that its file has every encoding, several versions and some free space.
enum EveryEncoding {
  static var options: Database.Options {
    var options = Database.Options.tiny
    // Changes do not encode the large cluster anew.
    options.limits.overlayBytes = 2000...2000
    return options
  }

  static func fill(_ database: Database) throws {
    try database.write { transaction in
      try transaction.createTable("encodings", columns: Self.columns, indexes: ["decimals"])
      try transaction.createTable("empty", columns: [Column("x", .int, default: .int(5))])
      try transaction.createTable(
        "keyed", columns: [Column("id", .text)], key: "id", indexes: ["id"])
      let editor = try transaction.table("encodings").editor
      var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
      for row in 0..<24 {
        try rows.append(
          key: Int64(row), spellings: Self.row(row).map { $0.map { Array($0.utf8) } })
      }
      try editor.append(try rows.encode(with: ClusterBuilder(effort: .thorough)))
      try editor.setNote("note", [1, 2, 3])
    }
    try database.write { transaction in
      let table = try transaction.table("encodings")
      for _ in 0..<3 { try table.insert(["constant": .text("same"), "integers": .int(5)]) }
    }
    for round in 0..<3 {
      try database.write { transaction in
        let table = try transaction.table("keyed")
        for row in 0..<3 {
          try table.insert([.text(row % 2 == 0 ? "\(round * 3 + row)" : "key \(round)\(row)")])
        }
      }
    }
    // Stored column by column, beneath records.
    try database.write { transaction in
      for key in 9..<19 as Range<Int64> {
        try transaction.table("encodings").update(key, ["integers": .int(-key * key)])
      }
    }
    try database.write { transaction in
      let table = try transaction.table("encodings")
      for key in [7, 12, 26] as [Int64] { try table.delete(key) }
      try table.update(5, ["packed": .text("changed"), "bool": .null])
      try table.update(20, ["decimals": .double(1.25)])
    }
    // Two blocks over each other that both have a certain row.
    try database.write { transaction in
      let table = try transaction.table("encodings")
      try table.update(5, ["bool": .bool(true)])
    }
  }

  /// The newest version.
  static func changeOnce(_ database: Database) throws {
    try database.write { try $0.table("encodings").update(25, ["integers": .int(-9)]) }
  }

  private static let columns = [
    Column("constant", .text), Column("integers", .int), Column("decimals", .double),
    Column("doubles", .double), Column("dictionary", .text), Column("packed", .text),
    Column("dates", .date), Column("moments", .dateTime), Column("bytes", .data),
    Column("bool", .bool), Column("prose", .text), Column("digits", .text),
  ]

  private static func row(_ row: Int) -> [String?] {
    let scattered = (Double(row + 1) * 1.234567890123e-7).description
    return [
      "same", "\(row * 37)", "\(row).\(row % 10)5", scattered,
      ["a longer category", "another category", "games"][row * 7 % 3],
      row % 5 == 0 ? nil : "text \(row * row * 7919)!", "2018-08-\(10 + row % 20)",
      "2018-08-03T12:\(10 + row):56Z", "\u{1}\(row)\u{7f}", row % 3 == 0 ? "true" : "false",
      "the text of row \(row * row * 7919) is long enough to compress",
      row % 7 == 3
        ? nil
        : row == 9 ? "none" : "id:\(String(0x9abcde + row * 0xfedcb, radix: 16))-\(row % 2)f\(row)",
    ]
  }
}
