import Engine
import TestSupport
import Testing

/// Imports that are killed beside others at the file, and run again.
@Suite struct UnseenBatchTests {
  private static let header = "id,text,number\n"

  /// With others at the file, what a killed writer has written last is seen only when somebody writes.
  @Test(
    "A batch that nobody has seen when the import is run again is not imported again",
    arguments: ["none", "full"], [false, true])
  func unseenBatches(durability: String, begun: Bool) throws {
    let source = try Workbench()
    let rows = (0..<60).map { "\($0),row \($0),\($0 * 7)\n" }.joined()
    try source.write("in.csv", Self.header + rows)
    var kills = 0
    for kind in ["write", "flush", "lock"] {
      for number in 1...60 where Effort.isLong || number % (kind == "write" ? 6 : 2) == 1 {
        let bench = try Workbench()
        let other = try Database.open(bench.database)
        try other.write { try $0.createTable("other", columns: [Column("n", .int)]) }
        let held = try other.snapshot()
        let words = [
          "import", source.path("in.csv"), "--into", bench.database, "--table", "t",
          "--batch-size", "20", "--durability", durability, "--quiet",
        ]
        if begun {
          // An earlier run's first rows, and how far it has come.
          _ = try SheafProcess.run(words + ["--limit", "20"])
        }
        let killed = try SheafProcess.run(
          words + ["--truncate"],
          environment: ["SHEAF_FAULT": "\(kind):\(number):kill:\(source.path("calls"))"])
        if killed.signal == 0 { break }
        kills += 1
        let again = try SheafProcess.run(words + ["--resume"])
        #expect(again.status == 0, "\(kind) \(number): \(again.errorText)")
        let exported = try SheafProcess.run(["export", bench.database, "--table", "t"]).output
        #expect(
          String(decoding: exported, as: UTF8.self) == Self.header + rows, "\(kind) \(number)")
        withExtendedLifetime(held) {}
        try other.close()
      }
    }
    #expect(kills > 10)
  }
}
