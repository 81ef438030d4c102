import Foundation
import Testing

@testable import Engine

/// A small file with every encoding, several versions and some free space.
struct DamageSample {
  let bytes: [UInt8]
  let digest: UInt64
  /// The contents of the version before, which the other slot names if the file was not closed.
  let before: UInt64
  /// Bytes that some block of the newest version, or a slot, uses.
  let reachable: Set<Int>
  /// A byte of a cluster.
  let inCluster: Int

  init(isClosed: Bool = true) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var options = Database.Options.tiny
    // The large cluster keeps its encodings.
    options.limits.overlayBytes = 2000...2000
    let database = try Database.open(path, options: options)
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
    try database.write { transaction in
      let table = try transaction.table("encodings")
      for key in [7, 12, 26] as [Int64] { try table.delete(key) }
      try table.update(5, ["packed": .text("changed"), "bool": .null])
      try table.update(20, ["decimals": .double(1.25)])
    }
    before = try Model.digest(database.snapshot())
    try database.write { try $0.table("encodings").update(25, ["integers": .int(-9)]) }
    let snapshot = try database.snapshot()
    digest = try Model.digest(snapshot)
    let encodings = try database.tableUse("encodings").columns.flatMap(\.encodings.keys)
    #expect(Set(encodings) == Set(ColumnEncoding.allCases.map(\.name)))
    var reachable = Set(0..<Layout.firstBlockOffset)
    var overlays = 0
    var inCluster = 0
    try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
      block, kind, _ in
      overlays += kind == .overlay ? 1 : 0
      if kind == .cluster { inCluster = Int(block.offset) + Int(block.length) - 1 }
      reachable.formUnion(Int(block.offset)..<Int(block.offset) + Int(block.length))
    }
    #expect(overlays > 0)
    self.reachable = reachable
    self.inCluster = inCluster
    if isClosed { try database.close() }
    bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    if !isClosed { try database.close() }
  }

  private static let columns = [
    Column("constant", .text), Column("integers", .int), Column("decimals", .double),
    Column("doubles", .double), Column("dictionary", .text), Column("packed", .text),
    Column("dates", .date), Column("moments", .dateTime), Column("bytes", .data),
    Column("bool", .bool), Column("prose", .text),
  ]

  private static func row(_ row: Int) -> [String?] {
    let scattered = (Double(row + 1) * 1.234567890123e-7).description
    return [
      "same", "\(row * 37)", "\(row).\(row % 10)5", scattered,
      ["a longer category", "another category", "games"][row * 7 % 3],
      row % 5 == 0 ? nil : "text \(row * row * 7919)!", "2018-08-\(10 + row % 20)",
      "2018-08-03T12:\(10 + row):56Z", "\u{1}\(row)\u{7f}", row % 3 == 0 ? "true" : "false",
      "the text of row \(row * row * 7919) is long enough to compress",
    ]
  }
}
