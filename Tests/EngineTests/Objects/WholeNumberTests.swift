import TestSupport
import Testing

@testable import Engine

/// A column of doubles takes whole numbers that a double holds exactly, as that double, in every way of
/// writing; a larger number is refused, never rounded.
@Suite("Whole numbers in columns of doubles")
struct WholeNumberTests {
  private let largest: Int64 = 1 << 53

  private func database(key: String? = nil) throws -> Database {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write {
      try $0.createTable(
        "t", columns: [Column("x", .double), Column("n", .int)], key: key, indexes: ["x"])
    }
    return database
  }

  private func values(_ database: Database) throws -> [Value?] {
    try Query().rows(in: database.snapshot().table("t")).map { $0["x"] }
  }

  @Test("Ints become doubles on insert, update and upsert")
  func insertUpdateAndUpsert() throws {
    let database = try database(key: "n")
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.insert(["x": .int(4), "n": .int(1)])
      try table.insert([.int(-largest), .int(2)])
      let key = try table.insert(["x": .double(0.5), "n": .int(3)])
      try table.update(key, ["x": .int(0)])
      try table.upsert(["x": .int(7), "n": .int(3)])
      try table.upsert(["x": .int(.min), "n": .int(4)])  // a power of two
    }
    #expect(
      try values(database) == [.double(4), .double(-0x1p53), .double(7), .double(-0x1p63)])
    // Stored as the double is spelled, so that writing either changes nothing.
    let frozen = try database.session().objects("t").freeze()
    try database.write { try $0.table("t").update(1, ["x": .double(4)]) }
    #expect(try database.snapshot().table("t").row(forKey: 1)?["x"] == frozen[0]["x"])
    for query in [column("x") == 4, column("x") == 4.0, column("x").isIn([Value.int(4)])] {
      #expect(try Query(query).keys(in: database.snapshot().table("t")) == [1])
    }
    #expect(try database.check().problems == [])
  }

  /// The text of a printed object.
  @Test func rowsInWords() throws {
    let database = try database()
    try database.write { try $0.table("t").insert(["x": .int(4)]) }
    let row = try #require(try database.snapshot().table("t").row(at: 0))
    #expect("\(row)" == "object 1 (x: 4.0, n: null)")
  }

  @Test("Live objects take ints for columns of doubles")
  func liveObjects() throws {
    let database = try database()
    let session = try database.session()
    try session.write { _ in
      let object = try session.insert(["x": .int(1)], into: "t")
      #expect(try object["x"] == .double(1))
      try object.set("x", to: .int(2))
      #expect(try object["x"] == .double(2))
      try session.objects("t").setAll(["x": .int(3)])
    }
    #expect(try session.objects("t").first?["x"] == .double(3))
  }

  @Test("A double column refuses ints that no double holds, and an int column refuses doubles")
  func whatADoubleDoesNotHold() throws {
    let database = try database()
    for int in [largest + 1, -largest - 1, .max] {
      #expect(
        throws: EngineError.invalidValue(
          table: "t", column: "x", value: "\(int)",
          expected: "a number that a double holds exactly")
      ) {
        try database.write { try $0.table("t").insert(["x": .int(int)]) }
      }
    }
    #expect(
      throws: EngineError.invalidValue(
        table: "t", column: "n", value: "5.0", expected: "an int")
    ) {
      try database.write { try $0.table("t").insert(["n": .double(5)]) }
    }
    #expect(try database.snapshot().isEmpty)
  }

  @Test("Ints are defaults of columns of doubles")
  func defaults() throws {
    let database = try database()
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.insert(["n": .int(1)])
      try table.addColumn(Column("y", .double, nullable: false, default: .int(3)))
      try table.setDefault("x", .int(9))
      try table.insert(["n": .int(2)])
      #expect(throws: EngineError.self) { try table.setDefault("x", .int(.max)) }
    }
    let table = try database.snapshot().table("t")
    #expect(table.columns.map(\.default) == [.double(9), nil, .double(3)])
    #expect(try table.row(forKey: 2)?.values == [.double(9), .int(2), .double(3)])
  }

  /// A default declared as an int is stored as a double, and the file fits the declaration again.
  @Test func declaredSchemas() throws {
    let folder = TemporaryFolder()
    var options = Database.Options()
    options.schema = Schema(
      version: 1,
      tables: [TableDefinition("t", columns: [Column("x", .double, default: .int(1))])])
    for _ in 0..<2 { try Database.open(folder.path("a.sheaf"), options: options).close() }
  }

  @Test("Codable integers and doubles convert where they are exact")
  func codableProperties() throws {
    struct Whole: Codable, Equatable { var x: Int, n: Double }
    struct Narrow: Codable { var x: Int8 }
    let database = try database()
    let whole = Whole(x: 1 << 40, n: 5)
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.insert(["x": .int(Int64(whole.x)), "n": .int(5)])
      struct Part: Codable { var x: Int }
      try table.insert(Part(x: 300))
    }
    let rows = try Query().rows(in: database.snapshot().table("t"))
    #expect(try rows[0].decode(Whole.self) == whole)
    #expect(throws: EngineError.self) { try rows[1].decode(Narrow.self) }
    #expect(rows[1]["x"] == .double(300))
  }

  /// A double is found as a primary key whether or not it was written with its point.
  @Test func primaryKeys() throws {
    let database = try database(key: "n")
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.insert(["n": .int(5), "x": .double(1)])
      try table.widenColumn("n", to: .double)
      try table.insert(["n": .int(6), "x": .double(2)])
      for number in [5, 6] {
        for value in [Value.int(Int64(number)), .double(Double(number))] {
          #expect(try table.row(forPrimaryKey: value)?.key == Int64(number - 4))
        }
      }
      #expect(try table.upsert(["n": .double(5), "x": .int(3)]).isNew == false)
    }
    let table = try database.snapshot().table("t")
    #expect(try table.row(forPrimaryKey: .int(5))?["x"] == .double(3))
    #expect(try table.row(forPrimaryKey: .double(6))?["x"] == .double(2))
    #expect(try table.row(forPrimaryKey: .double(5.5)) == nil)
    #expect(try database.session().object(in: "t", primaryKey: .int(6))?["x"] == .double(2))
    #expect(try database.check().problems == [])
  }
}
