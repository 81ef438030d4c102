import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Forged numbers under right checksums: whatever a field says, every operation works or throws the
/// engine's own error, in bounded memory and time; and the check finds every forgery that breaks an
/// operation.
///
/// Each runs in a process of its own, which a trap would end.
@Suite("Forged numbers")
struct ForgedFieldTests {
  @Test("Every number of a file, forged with checksums that fit", arguments: 0..<4)
  func everyField(part: Int) async throws {
    let folder = TemporaryFolder()
    let log = folder.path("log")
    let sample = folder.path("sample")
    try Data(DamageSample().bytes).write(to: URL(fileURLWithPath: sample))
    await #expect(processExitsWith: .success) {
      [part = part as Int, sample = sample as String, log = log as String] in
      try Self.forgeAll(of: sample, part: part, log: log)
    }
    let said = try String(contentsOf: URL(fileURLWithPath: log), encoding: .utf8)
    let trying = try String(contentsOf: URL(fileURLWithPath: log + ".trying"), encoding: .utf8)
    #expect(said.hasSuffix("done\n"), "it ended at \(trying.prefix { $0 != "\n" })")
    let last = said.split(separator: "\n").suffix(40).joined(separator: "\n")
    #expect(said == "done\n", "\(last)")
  }

  /// The key is just large enough for the objects, so that the catalogue alone looks right.
  @Test("A next key that lies among the keys of a table with gaps", arguments: [4, 4096])
  func nextKeyAmongKeys(overlayFrom: Int) throws {
    var options = Database.Options.tiny
    options.limits.overlayFrom = overlayFrom
    let storage = RecordingStorage(isRecording: false)
    do {
      let database = try Database.open(storage: storage, options: options)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("a", .int), Column("k", .text)])
        let table = try transaction.table("t")
        for key in 1...60 { try table.insert([.int(Int64(key)), .text("k\(key)")]) }
      }
      try database.write { for key in 10..<40 as Range<Int64> { try $0.table("t").delete(key) } }
      // The last leaf's last row is gone, too.
      try database.write { try $0.table("t").delete(60) }
      try database.close()
    }
    let map = FieldMap(storage.content)
    let field = try #require(map.fields.first { $0.name.hasSuffix("next key") })
    #expect(map.value(field) == 61)
    let expected = (1...9).map { Int64($0) } + (40...59).map { Int64($0) }
    for next in 30...64 as ClosedRange<UInt64> {
      for isTouched in [false, true] {
        let forged = RecordingStorage(map.forged(field, next), isRecording: false)
        let database = try Database.open(storage: forged, options: options)
        let isSound = next >= 60
        #expect(try database.check().problems.isEmpty == isSound, "\(next)")
        for way in 0..<3 {
          let attempt = {
            try database.write { transaction in
              let table = try transaction.table("t")
              // The last leaf is open already, or not.
              if isTouched { try table.update(59, ["a": .int(0)]) }
              var rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
              try rows.append(key: 0, values: [.int(-1), .text("new")])
              switch way {
              case 0: #expect(try table.insert([.int(-1), .text("new")]) >= 60)
              case 1: try table.editor.append(try rows.encode(with: ClusterBuilder()))
              default:
                let text = Array("7new".utf8)
                let spans = [TextSpan(offset: 0, length: 1), TextSpan(offset: 1, length: 3)]
                try text.withUnsafeBytes { arena in
                  try spans.withUnsafeBufferPointer {
                    try table.editor.append(arena: arena, spans: $0, rowCount: 1)
                  }
                }
              }
            }
          }
          if isSound {
            try attempt()
          } else {
            let error = try #require(throws: EngineError.self) { try attempt() }
            let text = "\(error)"
            #expect(text.contains("table 't'") && text.contains("\(next)"), "\(text)")
            #expect(text.contains("59") && !text.contains("\n"), "\(text)")
          }
        }
        let table = try database.snapshot().table("t")
        let keys = try Query().keys(in: table)
        #expect(keys.prefix(29) == expected[...] && keys.count == (isSound ? 32 : 29), "\(next)")
        #expect(try table.row(forKey: 59)?["k"] == .text("k59"))
        // Operations that give no key still work.
        try database.write {
          try $0.table("t").update(1, ["a": .int(5)])
          try $0.table("t").delete(2)
        }
      }
    }
  }

  @Test(
    "A table whose keys are used up refuses another object, and goes on without", arguments: 0..<3)
  func keysUsedUp(way: Int) throws {
    let storage = RecordingStorage(isRecording: false)
    do {
      let database = try Database.open(storage: storage, options: .tiny)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("a", .int)])
        for key in 1...5 as ClosedRange<Int64> { try transaction.table("t").insert([.int(key)]) }
      }
      try database.close()
    }
    let map = FieldMap(storage.content)
    let field = try #require(map.fields.first { $0.name.hasSuffix("next key") })
    let forged = RecordingStorage(map.forged(field, UInt64(Int64.max)), isRecording: false)
    let database = try Database.open(storage: forged, options: .tiny)
    #expect(throws: EngineError.tooLarge(what: "a key", limit: "2^63")) {
      try database.write { transaction in
        let table = try transaction.table("t")
        var rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
        try rows.append(key: 0, values: [.int(-1)])
        switch way {
        case 0: _ = try table.insert([.int(-1)])
        case 1: try table.editor.append(try rows.encode(with: ClusterBuilder()))
        default:
          try Array("7".utf8).withUnsafeBytes { arena in
            try withUnsafePointer(to: TextSpan(offset: 0, length: 1)) {
              try table.editor.append(
                arena: arena, spans: UnsafeBufferPointer(start: $0, count: 1), rowCount: 1)
            }
          }
        }
      }
    }
    try database.write { _ = try $0.table("t").update(1, ["a": .int(5)]) }
    #expect(
      try database.check().problems == ["table 't': it has no key left for another object"])
    #expect(try Query().keys(in: database.snapshot().table("t")) == [1, 2, 3, 4, 5])
  }

  @Test("A catalogue counts no more objects than there are keys, and than can be counted")
  func counts() throws {
    func read(_ tables: [(first: Int64, objects: UInt64, next: Int64)]) throws {
      var catalogue = Catalogue()
      for (index, each) in tables.enumerated() {
        var table = Catalogue.TableEntry(number: UInt32(index + 1), name: "t\(index)")
        let block = BlockReference(offset: 8192, length: 100, checksum: 1)
        table.root = TreeRoot(
          level: 1, entry: NodeEntry(firstKey: each.first, count: each.objects, reference: block))
        table.nextKey = each.next
        catalogue.add(table)
      }
      catalogue.nextTableNumber = UInt32(tables.count + 1)
      let bytes = catalogue.encode()
      let read = try bytes.withUnsafeBytes { try Catalogue(decoding: $0) }
      #expect(read.tables == catalogue.tables)
    }
    try read([(5, 10, 15)])
    #expect(throws: DecodingFailure.self) { try read([(5, 11, 15)]) }
    let most = Catalogue.mostObjects
    try read([(1, most, .max)])
    #expect(throws: DecodingFailure.self) { try read([(1, most + 1, .max)]) }
    try read([(1, most / 2, .max), (1, most / 2, .max)])
    #expect(throws: DecodingFailure.self) {
      try read([(1, most / 2, .max), (1, most / 2 + 1, .max)])
    }
    #expect(throws: DecodingFailure.self) {
      try read([(Int64, UInt64, Int64)](repeating: (1, UInt64(Int64.max) - 1, .max), count: 3))
    }
  }

  @Test("A version behind the last there may be is an error, and the last one is read")
  func lastVersion() throws {
    let storage = RecordingStorage(isRecording: false)
    do {
      let database = try Database.open(storage: storage, options: .tiny)
      try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
      try database.close()
    }
    let map = FieldMap(storage.content)
    let field = try #require(map.fields.first { $0.name == "slot version" })
    let last = VersionRecord.lastVersion
    for version in [0, last + 1, 1 << 63, .max] {
      let forged = RecordingStorage(map.forged(field, version), isRecording: false)
      let error = #expect(throws: EngineError.self, "\(version)") {
        _ = try Database.open(storage: forged, options: .tiny)
      }
      #expect(error.map { "\($0)" }?.contains("its version is \(version)") == true)
    }
    let forged = RecordingStorage(map.forged(field, last), isRecording: false)
    let database = try Database.open(storage: forged, options: .tiny)
    #expect(try database.snapshot().version == last)
    #expect(try database.check().problems == ["version \(last) is the last that there can be"])
    #expect(throws: EngineError.tooLarge(what: "the number of the next version", limit: "2^62")) {
      try database.write { _ = try $0.table("t").insert([.int(1)]) }
    }
  }

  @Test("A column's next number that a removed column has had is found by the check")
  func nextColumnAmongRemoved() throws {
    let storage = RecordingStorage(isRecording: false)
    do {
      let database = try Database.open(storage: storage, options: .tiny)
      try database.write { transaction in
        try transaction.createTable(
          "t", columns: [Column("a", .int), Column("b", .int), Column("c", .int)])
        for key in 1...5 as ClosedRange<Int64> {
          try transaction.table("t").insert([.int(key), .int(key), .int(key)])
        }
      }
      try database.write { try $0.table("t").removeColumn("c") }
      #expect(try database.check().problems == [])
      try database.close()
    }
    let map = FieldMap(storage.content)
    let field = try #require(map.fields.first { $0.name.hasSuffix("next column") })
    #expect(map.value(field) == 4)
    let forged = RecordingStorage(map.forged(field, 3), isRecording: false)
    let problems = try Database.open(storage: forged).check().problems
    #expect(problems.contains { $0.contains("column 3") }, "\(problems)")
  }

  private static func forgeAll(of sample: String, part: Int, log: String) throws {
    // An allocation of a size that the file gives must fail rather than succeed unnoticed.
    var limit = rlimit(rlim_cur: 2 << 30, rlim_max: 2 << 30)
    setrlimit(__rlimit_resource_t(2), &limit)
    let descriptor = try System.open(log, .append)
    let trying = try System.open(log + ".trying", .readWriteCreate)
    func say(_ line: String, in file: Int32, at offset: Int?) throws {
      try Array((line + "\n").utf8).withUnsafeBytes { bytes in
        if let offset {
          try System.write(file, at: offset, bytes, path: log)
        } else {
          try System.write(file, bytes, path: log)
        }
      }
    }
    let map = FieldMap(Array(try Data(contentsOf: URL(fileURLWithPath: sample))))
    for (number, field) in map.fields.enumerated() where number % 4 == part {
      let isOfCatalogue =
        ["slot", "catalogue", "table", "schema"].contains { field.name.hasPrefix($0) }
        && !["length", "offset", "form"].contains { field.name.contains($0) }
      if Effort.isShort, !isOfCatalogue, number / 4 % 3 > 0 { continue }
      let values = map.hostileValues(field)
      for (index, value) in values.enumerated()
      where Effort.isLong || isOfCatalogue || index == number / 4 % values.count {
        let label = "\(field.name) = \(value) instead of \(map.value(field))"
        // An operation that takes longer loops.
        alarm(30)
        try say(label, in: trying, at: 0)
        if let problem = try Forgery(map.forged(field, value)).problem() {
          try say("\(label): \(problem)", in: descriptor, at: nil)
        }
      }
    }
    try say("done", in: descriptor, at: nil)
  }
}
