import Engine
import TestSupport
import Testing

/// Imports that are killed while others have the file open, and run again.
@Suite struct UnseenBatchTests {
  private static let header = "id,text,number\n"

  /// While others have the file open, a killed writer's last commit becomes visible only to the next
  /// writer.
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
          // The first rows of an earlier run, with its checkpoint.
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
