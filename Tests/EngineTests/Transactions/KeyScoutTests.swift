import TestSupport
import Testing

@testable import Engine

/// Keys looked up beside the writer, compared with the transaction's own lookups in the same version.
@Suite struct KeyScoutTests {
  private static func spans(_ keys: [String?]) -> (arena: [UInt8], spans: [TextSpan]) {
    var arena: [UInt8] = [0]
    let spans = keys.map { key in
      guard let key else { return TextSpan.null }
      defer { arena += Array(key.utf8) }
      return TextSpan(offset: UInt32(arena.count), length: UInt32(key.utf8.count))
    }
    return (arena, spans)
  }

  private static func find(
    _ keys: [String?],
    _ body: (UnsafeRawPointer, UnsafeBufferPointer<TextSpan>, UnsafeMutableBufferPointer<Int64>)
      throws -> Void
  ) throws -> [Int64] {
    let (arena, spans) = spans(keys)
    var found = [Int64](repeating: 7, count: keys.count)
    try arena.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      try spans.withUnsafeBufferPointer { spans in
        try found.withUnsafeMutableBufferPointer { try body(base, spans, $0) }
      }
    }
    return found
  }

  /// The keys that an input may have: those of the objects in order, with some left out, added or
  /// moved; any keys; new keys.
  private static func wanted(_ present: [String], _ random: inout SplitMix64) -> [String?] {
    var keys: [String?] = []
    if !present.isEmpty, random.next() % 4 > 0 {
      let start = Int.random(in: 0..<present.count, using: &random)
      for key in present[start...].prefix(Int.random(in: 1...300, using: &random)) {
        switch random.next() % 16 {
        case 0: break
        case 1: keys += [key, "new \(random.next() % 1000)"]
        case 2: keys.append(present.randomElement(using: &random))
        case 3: keys += [key, key]
        default: keys.append(key)
        }
      }
    }
    for _ in 0..<Int.random(in: 0..<60, using: &random) {
      keys.append(
        [present.randomElement(using: &random), "new \(random.next() % 1000)", nil]
          .randomElement(using: &random) ?? nil)
    }
    if random.next() % 4 == 0 { keys.shuffle(using: &random) }
    return keys.isEmpty ? [nil] : keys
  }

  @Test(
    "A scout and the writer together find what the writer finds", arguments: Effort.seeds(0..<10))
  func twins(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let folder = TemporaryFolder()
    var options = seed % 2 == 0 ? Database.Options.tiny : Database.Options()
    if seed % 4 == 0 { options.indexLimits.filterBytes = 0 }
    let database = try Database.open(folder.path("t.sheaf"), options: options)
    try database.write {
      try $0.createTable("t", columns: [Column("n", .int), Column("id", .text)], key: "id")
    }
    var next = 0
    var views: [KeyView] = []
    let scout = KeyScout()
    var foundByScouts = 0
    for round in 0..<24 {
      try database.write { transaction in
        let table = try transaction.table("t")
        if let view = try transaction.keyView(of: table) { views.append(view) }
        for _ in 0..<Int.random(in: 0..<120, using: &random) {
          try table.insert([.int(Int64(next)), .text("\(next % 3 == 0 ? "" : "key ")\(next * 7)")])
          next += 1
        }
      }
      if round % 8 == 7 {
        // Objects are deleted: earlier answers are no longer valid.
        try database.write { transaction in
          let table = try transaction.table("t")
          for _ in 0..<20 {
            try table.delete(Int64.random(in: 1...Int64(max(next, 1)), using: &random))
          }
        }
        views.removeAll()
        continue
      }
      if round == 12 {
        views.removeAll()
        _ = try database.compact()
        continue
      }
      guard let view = views.randomElement(using: &random) else { continue }
      try database.write { transaction in
        let editor = try transaction.table("t").editor
        var present: [String] = []
        try database.snapshot().table("t").forEachRow { row in
          if case .text(let key) = row["id"] { present.append(key) }
        }
        for _ in 0..<6 {
          foundByScouts += try Self.expectSame(
            Self.wanted(present, &random), scout, view, editor, "seed \(seed), round \(round)")
        }
      }
      if views.count > 6 { views.removeFirst() }
    }
    #expect(foundByScouts > 500, "seed \(seed)")
    views.removeAll()
    try database.close()
  }

  /// Looks keys up in both ways, and returns how many the scout has found.
  private static func expectSame(
    _ keys: [String?], _ scout: KeyScout, _ view: KeyView, _ editor: TableEditor, _ note: Comment
  ) throws -> Int {
    let expected = try find(keys) { try editor.find(base: $0, keys: $1, into: $2) }
    var looked = 0
    var codes = [Int64](repeating: 0, count: keys.count)
    var found = try find(keys) { base, spans, found in
      looked = try codes.withUnsafeMutableBufferPointer {
        try scout.find(view, base: base, keys: spans, into: found, codes: $0)
      }
    }
    for (one, other) in zip(found, expected) where one >= 0 { #expect(one == other, note) }
    let foundByScout = found.count { $0 >= 0 }
    let others = keys.indices.filter { found[$0] < 0 }
    try editor.noteLookedUp(looked, in: view.largeRuns)
    let rest = try find(others.map { keys[$0] }) {
      try editor.find(
        base: $0, keys: $1, codes: others.map { codes[$0] }, passingOver: view.largeRuns, into: $2)
    }
    for (place, object) in zip(others, rest) { found[place] = object }
    #expect(found == expected, note)
    return foundByScout
  }

  @Test("A view is of the version that its transaction began from, or there is none")
  func views() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("id", .text)], key: "id")
      let none1 = try transaction.keyView(of: transaction.table("t"))
      #expect(none1 == nil)
      try transaction.createTable("u", columns: [Column("id", .text)])
    }
    try database.write { transaction in
      let none2 = try transaction.keyView(of: transaction.table("u"))
      #expect(none2 == nil)
      let table = try transaction.table("t")
      let view = try transaction.keyView(of: table)
      #expect(view?.version == transaction.baseVersion)
      try table.insert([.text("a")])
      let late = try transaction.keyView(of: table)
      #expect(late == nil)
    }
    // All slots for versions are taken: the import does without.
    let places = try AllPlaces(of: database)
    try database.write { transaction in
      let none3 = try transaction.keyView(of: transaction.table("t"))
      #expect(none3 == nil)
    }
    withExtendedLifetime(places) {}
    try database.close()
  }
}
