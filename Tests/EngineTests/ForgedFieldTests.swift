import Foundation
import TestSupport
import Testing

@testable import Engine

/// Numbers that lie, under checksums that fit: whatever a field says, every operation works or throws the
/// engine's own error, in bounded memory and time, and what breaks one of them is found by the check.
///
/// Runs in processes of their own, which a trap would end.
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

  /// As many objects as fit below it, so that the catalogue alone looks well.
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
        // What gives no key goes on.
        try database.write {
          try $0.table("t").update(1, ["a": .int(5)])
          try $0.table("t").delete(2)
        }
      }
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
    // An allocation that a number of the file asks for must fail rather than succeed unnoticed.
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
      let values = map.hostileValues(field)
      let isOfCatalogue =
        ["slot", "catalogue", "table", "schema"].contains { field.name.hasPrefix($0) }
        && !["length", "offset", "form"].contains { field.name.contains($0) }
      for (index, value) in values.enumerated()
      where Effort.isLong || isOfCatalogue || index == number / 4 % values.count {
        let label = "\(field.name) = \(value) instead of \(map.value(field))"
        // What takes longer than this goes on for ever.
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
