import TestSupport
import Testing

@testable import Engine

@Suite("Long chains of conditions", .timeLimit(.minutes(60)))
struct PredicateChainTests {
  let folder = TemporaryFolder()

  private let terms = Effort.isLong ? 100_000 : 10_000

  private func table(_ rows: Int) throws -> (Database, Table) {
    let database = try Database.open(folder.path("a"), options: .tiny)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int)])
      for number in 0..<rows { try transaction.table("t").insert([.int(Int64(number))]) }
    }
    return (database, try database.snapshot().table("t"))
  }

  private func depth(_ predicate: Engine.Predicate) -> Int {
    switch predicate {
    case .test: 0
    case .not(let part): 1 + depth(part)
    case .all(let parts), .any(let parts): 1 + (parts.map(depth).max() ?? 0)
    }
  }

  private func termCount(_ predicate: Engine.Predicate) -> Int {
    switch predicate {
    case .test: 1
    case .not(let part): termCount(part)
    case .all(let parts), .any(let parts): parts.reduce(0) { $0 + termCount($1) }
    }
  }

  @Test("Thousands of terms, one after the other, from either side, in any way")
  func long() throws {
    let (_, table) = try table(50)
    let count = terms
    var behind: Engine.Predicate = column("n") == -1
    var before: Engine.Predicate = column("n") == -1
    var both: Engine.Predicate = column("n") >= -1
    for number in 1..<count {
      let value = number % (count / 20) == 0 ? number / (count / 20) : -number
      behind = behind || column("n") == value
      before = column("n") == value || before
      both = both && column("n") != value
    }
    for predicate in [behind, before, both] {
      #expect(termCount(predicate) == count && depth(predicate) < 10)
    }
    let expected = Array(2...20) as [Int64]
    #expect(try Query(behind).keys(in: table) == expected)
    #expect(try Query(before).keys(in: table) == expected)
    #expect(try Query(!both).keys(in: table) == expected)
    #expect(try Query(both).count(in: table) == 31)
    // Chains of chains, on both sides.
    var chains: Engine.Predicate = column("n") == 1
    for _ in 0..<1000 {
      chains = (chains || (column("n") == 2 || column("n") == 3)) || chains.first
    }
    #expect(try Query(chains).keys(in: table) == [2, 3, 4] && depth(chains) < 20)
    #expect(try Query(behind || before).keys(in: table) == expected)
  }

  @Test("As text, with parentheses and without")
  func text() throws {
    let (_, table) = try table(50)
    let tests = (0..<terms).map { "n == \($0 % 7 == 0 ? 3 : -1)" }
    #expect(try Query(Engine.Predicate(tests.joined(separator: " or "))).keys(in: table) == [4])
    let wrapped = tests.map { "not (\($0))" }.joined(separator: " and ")
    #expect(try Query(Engine.Predicate(wrapped)).count(in: table) == 49)
    let deep =
      String(repeating: "(", count: 100_000) + "n == 1" + String(repeating: ")", count: 100_000)
    #expect(throws: QueryError.self) { try Engine.Predicate(deep) }
    #expect(throws: QueryError.self) {
      try Engine.Predicate(String(repeating: "not ", count: 100_000) + "n == 1")
    }
  }

  @Test("Short chains stay flat; a double negation is none; texts are compared by their bytes")
  func short() {
    let (a, b, c): (Engine.Predicate, Engine.Predicate, Engine.Predicate) = (
      column("a") == 1, column("b") == 2, column("c") == 3
    )
    #expect((a || b || c) == .any([a, b, c]) && (a && (b && c)) == .all([a, b, c]))
    #expect(!(!a) == a && !a == .not(a))
    var alternating = a
    for _ in 0..<100_000 { alternating = !alternating }
    #expect(alternating == a)
    let (one, two) = ("\u{E9}", "e\u{301}")
    #expect((column("a") == one) != (column("a") == two))
    #expect(column("a").contains(one) != column("a").contains(two))
    #expect(column("a").beginsWith(one) != column("a").beginsWith(two))
    #expect(column("a").isLike(one) != column("a").isLike(two))
    #expect(column("a").isIn([one]) != column("a").isIn([two]))
    #expect(column("a").isIn([one]) == column("a").isIn([one]))
    #expect(column("a").isBetween("a"...one) == column("a").isBetween("a"...one))
    #expect(column("a").isBetween("a"...one) != column("a").isBetween("a"...two))
    #expect(column("a").isNull == column("a").isNull && column("a").isNull != column("a").isNaN)
  }
}

extension Engine.Predicate {
  fileprivate var first: Engine.Predicate {
    if case .any(let parts) = self { return parts[0].first }
    return self
  }
}
