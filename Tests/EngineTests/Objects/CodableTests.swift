import Foundation
import Testing

@testable import Engine

private enum Kind: String, Codable { case game, tool }
private enum Level: Int8, Codable, CaseIterable { case low = 3, high = 4 }

/// A type with a property of every kind.
private struct Everything: Codable, Equatable {
  var yes = true
  var int = Int.min
  var int8 = Int8.min
  var int16 = Int16.max
  var int32 = Int32.min
  var int64 = Int64.max
  var uint = UInt(7)
  var uint8 = UInt8.max
  var uint16 = UInt16.max
  var uint32 = UInt32.max
  var uint64 = UInt64(Int64.max)
  var double = -0.1
  var float: Float = 0.1
  var text = "naïve 🎉"
  var day = CalendarDate(clamping: 17_000)
  var moment = DateTime(clamping: 1_500_000_000_123_456)
  var bytes: [UInt8] = [0, 255, 7]
  var level = Level.high
  var kind: Kind?
  var maybe: Int?
  var perhaps: String?
  var date = Date(timeIntervalSinceReferenceDate: 12.5)
  var id = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8") ?? UUID()

  enum CodingKeys: String, CodingKey {
    case yes, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, double, float
    case text = "The Text"
    case day, moment, bytes, level, kind, maybe, perhaps, date, id
  }
}

/// Changes the table while it is encoded for it.
private struct Renaming: Encodable {
  let a: Int
  var change: (() throws -> Void)?

  enum CodingKeys: String, CodingKey { case a }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(a, forKey: .a)
    try change?()
  }
}

/// `Codable` objects are read back as they were written, or the error names the property.
@Suite("Codable objects")
struct CodableTests {
  private func write(
    _ definition: TableDefinition, _ body: (WritableTable) throws -> Void
  ) throws -> Engine.Table {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { transaction in
      try transaction.createTable(definition)
      try body(try transaction.table(definition.name))
    }
    return try database.snapshot().table(definition.name)
  }

  @Test("An object that changes the table's columns while it is encoded")
  func changesColumns() throws {
    let columns = [Column("a", .int), Column("b", .int)]
    let table = try write(TableDefinition("t", columns: columns)) { table in
      try table.insert([.int(1), .int(2)])
      func rename() throws {
        try table.renameColumn("a", to: "x")
        try table.renameColumn("b", to: "a")
      }
      for key in [1, 2] as [Int64] {
        let columns = table.columns.map(\.name)
        #expect(throws: EngineError.self) {
          if key == 1 {
            try table.update(key, Renaming(a: 5, change: rename))
          } else {
            try table.insert(Renaming(a: 5) { try table.renameColumn("x", to: "y") })
          }
        }
        #expect(table.columns.map(\.name) != columns)
        try table.insert(Renaming(a: 76 + Int(key)))
      }
    }
    #expect(table.columns.map(\.name) == ["y", "a"])
    #expect(try table.row(forKey: 1)?.values == [.int(1), .int(2)])
    #expect(try table.row(forKey: 2)?.values == [.null, .int(77)])
    #expect(try table.row(forKey: 3)?.values == [.null, .int(78)])
  }

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return "nothing was thrown"
    } catch {
      return "\(error)"
    }
  }

  @Test("Columns are found in the type")
  func columns() throws {
    let definition = try TableDefinition(of: Everything.self, named: "e", key: "int")
    let described = definition.columns.map {
      "\($0.name) \($0.type.name)\($0.isNullable ? "?" : "")"
    }
    #expect(
      described == [
        "yes bool", "int int", "int8 int", "int16 int", "int32 int", "int64 int", "uint int",
        "uint8 int", "uint16 int", "uint32 int", "uint64 int", "double double", "float double",
        "The Text text", "day date", "moment datetime", "bytes data", "level int", "kind text?",
        "maybe int?", "perhaps text?", "date double", "id text",
      ])
    #expect(definition.key == "int")
  }

  @Test("Everything that goes in comes out")
  func roundTrip() throws {
    var objects = [Everything(), Everything(), Everything()]
    objects[1].kind = .tool
    objects[1].maybe = 5
    objects[1].perhaps = ""
    objects[1].double = .infinity
    objects[1].int = 0
    objects[1].float = -.greatestFiniteMagnitude
    objects[2].int = 1
    objects[2].bytes = []
    let definition = try TableDefinition(of: Everything.self, named: "e", key: "int")
    let table = try write(definition) { table in
      for object in objects.reversed() { try table.insert(object) }
      var changed = objects[2]
      changed.maybe = 9
      let (key, isNew) = try table.upsert(changed)
      #expect(key == 1 && !isNew)
      // Nil becomes null again.
      try table.update(1, objects[2])
      #expect(throws: EngineError.self) { try table.insert(objects[2]) }
    }
    for object in objects {
      let row = try #require(try table.row(forPrimaryKey: .int(Int64(object.int))))
      #expect(try row.decode(Everything.self) == object)
    }
    var query = Query(column("int") >= 0)
    query.sort = [.ascending("int")]
    #expect(try query.rows(in: table, as: Everything.self) == Array(objects[1...]))
  }

  @Test("Some columns only, defaults, names without a type")
  func parts() throws {
    struct Small: Codable, Equatable {
      var name: String
      var stars: Int?
    }
    struct Other: Decodable {
      var name: String
      var missing: Bool?
    }
    let columns = [
      Column("name", .text), Column("stars", .double), Column("kind", .text, default: .text("x")),
    ]
    let table = try write(TableDefinition("t", columns: columns)) { table in
      // An integer is stored in a column of doubles.
      try table.insert(Small(name: "a", stars: 5))
      try table.insert(Small(name: "b", stars: nil))
      try table.insert(["name": "c", "kind": "y"])
      try table.update(3, ["stars": 2])
    }
    #expect(try table.row(forKey: 1)?.values == [.text("a"), .double(5), .text("x")])
    #expect(try table.row(forKey: 2)?.values == [.text("b"), .null, .text("x")])
    #expect(try table.row(forKey: 3)?.values == [.text("c"), .double(2), .text("y")])
    let row = try #require(try table.row(forKey: 2))
    #expect(try row.decode(Other.self).missing == nil)
    #expect(try row.decode([String: String?].self) == ["name": "b", "stars": nil, "kind": "x"])
  }

  /// Inserts another object whenever it is encoded.
  private struct Mother: Encodable {
    var name: String
    var stars: Int?
    let table: WritableTable
    enum CodingKeys: CodingKey { case name, stars }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try table.insert(["name": .text("child of \(name)"), "stars": .int(7)])
      struct Child: Encodable { var kind = "child" }
      try table.insert(Child())
      if let stars { try container.encode(stars, forKey: .stars) }
    }
  }

  @Test("Nothing of one object is in the next, also when it is added while the other is encoded")
  func oneAfterTheOther() throws {
    struct Unknown: Encodable {
      var kind = "k"
      var other = 1
    }
    struct Starred: Encodable { var stars = 3 }
    struct Named: Encodable { var name = "n" }
    let columns = [
      Column("name", .text), Column("stars", .double), Column("kind", .text, default: .text("x")),
    ]
    let table = try write(TableDefinition("t", columns: columns)) { table in
      try table.insert(Mother(name: "a", stars: 5, table: table))
      #expect(throws: EngineError.self) { try table.insert(Unknown()) }
      try table.insert(Mother(name: "b", stars: nil, table: table))
      try table.insert(Starred())
      try table.insert(Named())
    }
    let rows = try (1...8).map { try table.row(forKey: $0)?.values }
    #expect(
      rows == [
        [.text("child of a"), .double(7), .text("x")], [.null, .null, .text("child")],
        [.text("a"), .double(5), .text("x")],
        [.text("child of b"), .double(7), .text("x")], [.null, .null, .text("child")],
        [.text("b"), .null, .text("x")],
        [.null, .double(3), .text("x")], [.text("n"), .null, .text("x")],
      ])
    #expect(table.count == 8)
  }

  @Test("What does not fit is refused with the property's name")
  func refusals() throws {
    struct Narrow: Codable { var x: Int8 }
    struct Unsigned: Codable { var x: UInt64 }
    struct Lists: Codable { var x: [Int] }
    struct Inner: Codable { var x: Narrow }
    struct Unknown: Codable { var y: Int }
    struct Text: Codable { var x: String }
    struct Single: Codable { var x: Kind }
    struct Small: Codable { var x: Float }
    struct Huge: Codable { var x: Int128 }
    struct MaybeHuge: Codable { var x: UInt128? }
    struct Empty: Codable {}
    let table = try write(TableDefinition("t", columns: [Column("x", .int), Column("z", .double)]))
    { table in
      let found: [(String, String)] = [
        (
          message { try table.insert(Unsigned(x: 1 << 63)) },
          "property 'x' of Unsigned: 9223372036854775808 is too large"
        ),
        (message { try table.insert(Lists(x: [])) }, "property 'x' of Lists: it is a list"),
        (message { try table.insert(Lists(x: [1])) }, "property 'x' of Lists: it is a list"),
        (message { try table.insert(Inner(x: Narrow(x: 1))) }, "'x' of Inner: it is an object"),
        (
          message { try table.insert(Huge(x: 1)) },
          "'x' of Huge: Encoder has not implemented support for Int128"
        ),
        (message { try table.insert(MaybeHuge(x: 1)) }, "support for UInt128"),
        (message { try table.insert(Unknown(y: 1)) }, "no column 'y'"),
        (message { try table.insert(Text(x: "a")) }, "column 'x'"),
        (message { try table.insert([1, 2]) }, "an object with named properties"),
        (message { try table.insert(3) }, "an object with named properties"),
        (message { try table.upsert(Narrow(x: 1)) }, "needs a primary key"),
      ]
      for (text, part) in found { #expect(text.contains(part), "\(text)") }
      #expect(try table.count == 0)
      try table.insert(["x": .int(300), "z": .double(1e300)])
      try table.insert(["x": .null])
    }
    let row = try #require(try table.row(forKey: 1))
    let null = try #require(try table.row(forKey: 2))
    let texts = Row(key: 1, values: [.text("b"), .double(1e300)], shape: RowShape(table.schema))
    struct Large: Codable { var z: Float }
    let found: [(String, String)] = [
      (message { _ = try row.decode(Narrow.self) }, "'x' of Narrow: 300 does not fit Int8"),
      (message { _ = try null.decode(Narrow.self) }, "make the property optional"),
      (message { _ = try row.decode(Text.self) }, "the column is an int, which is no String"),
      (message { _ = try row.decode(Lists.self) }, "it is a list"),
      (message { _ = try row.decode(Inner.self) }, "it is an object of its own"),
      (message { _ = try row.decode(Huge.self) }, "support for Int128"),
      (message { _ = try row.decode(MaybeHuge.self) }, "support for UInt128"),
      (message { _ = try TableDefinition(of: Huge.self, named: "a") }, "support for Int128"),
      (message { _ = try TableDefinition(of: MaybeHuge.self, named: "a") }, "support for UInt128"),
      (message { _ = try row.decode(Unknown.self) }, "'y' of Unknown: the row has no column"),
      (message { _ = try texts.decode(Single.self) }, "'x' of Single: 'b' is no Kind"),
      (message { _ = try row.decode(Large.self) }, "does not fit Float"),
      (message { _ = try row.decode([Int].self) }, "an object with named properties"),
      (message { _ = try row.decode(Int.self) }, "an object with named properties"),
      (
        message { _ = try TableDefinition(of: Lists.self, named: "a") },
        "'x' of Lists: it is a list"
      ),
      (message { _ = try TableDefinition(of: Inner.self, named: "a") }, "it is an object"),
      (message { _ = try TableDefinition(of: Single.self, named: "a") }, "make Kind CaseIterable"),
      (message { _ = try TableDefinition(of: Empty.self, named: "a") }, "at least one column"),
      (message { _ = try TableDefinition(of: Text.self, named: "a", key: "y") }, "the key 'y'"),
    ]
    for (text, part) in found { #expect(text.contains(part), "\(text)") }
  }

  private class Base: Codable {
    var x = 1
  }

  @Test("Types that decode themselves by hand")
  func byHand() throws {
    struct Wrapped: Codable, Equatable {
      var inner: [String: Int]
      init(_ inner: [String: Int]) { self.inner = inner }
      init(from decoder: any Decoder) throws {
        inner = try decoder.singleValueContainer().decode([String: Int].self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(inner)
      }
    }
    struct Careful: Codable, Equatable {
      var x: Int?
      init(x: Int?) { self.x = x }
      enum CodingKeys: CodingKey { case x }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        x =
          try container.decodeNil(forKey: .x) ? nil : container.decode(Int.self, forKey: .x)
      }
    }
    struct Strict: Decodable {
      var x: Int
      enum CodingKeys: CodingKey { case x }
      init(from decoder: any Decoder) throws {
        x = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .x)
        guard x > 0 else {
          throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "too small"))
        }
      }
    }
    let table = try write(TableDefinition("t", columns: [Column("x", .int)])) { table in
      try table.insert(Wrapped(["x": 4]))
      try table.insert(Careful(x: nil))
      try table.insert(Base())
    }
    #expect(try table.row(forKey: 1)?.decode(Wrapped.self) == Wrapped(["x": 4]))
    #expect(try table.row(forKey: 1)?.decode(Careful.self) == Careful(x: 4))
    #expect(try table.row(forKey: 2)?.decode(Careful.self) == Careful(x: nil))
    #expect(try table.row(forKey: 3)?.decode(Base.self).x == 1)
    #expect(
      try TableDefinition(of: Base.self, named: "a").columns == [
        Column("x", .int, nullable: false)
      ])
    #expect(message { _ = try TableDefinition(of: Strict.self, named: "a") }.contains("too small"))
  }

  @Test("Dates are texts in JSON")
  func json() throws {
    let object = Everything()
    let data = try JSONEncoder().encode(object)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.contains("\"2016-07-18\"") && text.contains("\"2017-07-14T02:40:00.123456Z\""))
    #expect(try JSONDecoder().decode(Everything.self, from: data) == object)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(CalendarDate.self, from: Data("\"2018-02-30\"".utf8))
    }
  }
}
