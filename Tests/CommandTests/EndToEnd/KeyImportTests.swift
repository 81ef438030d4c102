import Engine
import Foundation
import Testing

@testable import Command

/// `--key` and `--on-conflict`, as scripts use them.
@Suite struct KeyImportTests {
  private static let counts = ["read", "imported", "updated", "skipped", "unchanged", "rejected"]

  private func bench(_ csv: String) throws -> (Workbench, [String]) {
    let bench = try Workbench()
    try bench.write("in.csv", csv)
    return (bench, ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
  }

  /// The same file changes nothing; a changed file changes only the values that differ.
  @Test func everyNight() throws {
    let rows = (1...500).map { "\($0),name \($0 % 9)" }
    let (bench, words) = try bench("id,name\n" + rows.map { $0 + "\n" }.joined())
    let update = words + ["--key", "id", "--on-conflict", "update", "--batch-size", "100"]
    #expect(try Self.counts.map { try bench.report(update)[$0].int } != [])
    let again = try bench.report(update)
    #expect(Self.counts.map { again[$0].int } == [500, 0, 0, 0, 500, 0])
    let resumed = try bench.report(update + ["--resume"])
    #expect(resumed["resumedAt"]["complete"].bool == true && resumed["read"].int == 0)

    var changed = rows
    changed[41] = "42,other"
    changed.append("501,new")
    try bench.write("in.csv", "id,name\n" + changed.map { $0 + "\n" }.joined())
    // The file has grown: `--resume` compares its records with their objects again.
    let text = try bench.run(update + ["--resume"]).outputText
    #expect(text.contains("imported 1 object into table \"t\""))
    #expect(text.contains("  known keys  1 updated, 0 skipped, 499 unchanged\n"))
    #expect(try bench.export() == bench.text("in.csv"))
    try bench.run(["check", bench.database])
  }

  /// A table without a key gets one only from an import that takes all of its records.
  @Test func emptyKeysThatAreThere() throws {
    let (bench, words) = try bench("id,k,v\n1,a,x\n2,\"\",y\n")
    try bench.run(words)
    let file = try bench.read("t.sheaf")
    try bench.write("in.csv", "id,k,v\n3,c,z\n")
    for key in ["k", "id,k"] {
      let refused = try bench.run(words + ["--key", key], status: .usage)
      #expect(refused.errorText.contains("column 'k' cannot be the key: object 2 is empty there"))
    }
    #expect(try bench.read("t.sheaf") == file)
    try bench.run(words + ["--key", "id"])
    #expect(try bench.export() == "id,k,v\n1,a,x\n2,\"\",y\n3,c,z\n")
  }

  @Test(
    "Every policy treats repeated keys as documented",
    arguments: [
      ("error", [4, 2, 0, 0, 0, 2], "1,x,p\n2,y,\n3,z,\n"),
      ("skip", [4, 2, 0, 2, 0, 0], "1,x,p\n2,y,\n3,z,\n"),
      ("replace", [4, 2, 2, 0, 0, 0], "1,v,\n2,y,\n3,z,\n"),
      ("update", [4, 2, 2, 0, 0, 0], "1,v,p\n2,y,\n3,z,\n"),
    ])
  func everyPolicy(policy: String, counts: [Int], table: String) throws {
    let (bench, words) = try bench("id,a\n1,u\n2,y\n1,v\n3,z\n")
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--key", "id"],
      input: "id,a,b\n1,x,p\n")
    for _ in 0..<2 {
      let report = try bench.report(
        words + ["--on-conflict", policy, "--batch-size", "all", "--max-rejects", "2"])
      #expect(Self.counts.map { report[$0].int } == counts.map { $0 })
      #expect(try bench.export("--no-header") == table)
      // Begins again: only the table is emptied.
      try bench.run(
        ["import", "-", "--into", bench.database, "--table", "t", "--truncate"],
        input: "id,a,b\n1,x,p\n")
    }
    if policy == "error" { #expect(try bench.text("in.rejects.csv") == "id,a\n1,u\n1,v\n") }
    try bench.run(["check", bench.database])
  }

  /// The error says what is committed; a higher limit continues from there.
  @Test func tooManyConflicts() throws {
    let (bench, words) = try bench(
      "id,a\n" + (1...250).map { "\($0 == 150 ? 7 : $0),x\n" }.joined())
    let key = words + ["--key", "id", "--batch-size", "100"]
    let error = try bench.run(key, status: .dataRefused).errorText
    #expect(error.contains("in.csv:151:1 (byte "), "\(error)")
    #expect(error.contains("the key '7' exists already: object "))
    #expect(error.contains("committed so far: 1 batch, 100 objects"))
    #expect(try bench.text("in.rejects.csv") == "id,a\n7,x\n")
    let rest = try bench.report(key + ["--resume", "--max-rejects", "1"])
    #expect(Self.counts.map { rest[$0].int } == [150, 149, 0, 0, 0, 1])
    #expect(try bench.text("in.rejects.csv") == "id,a\n7,x\n")
  }

  @Test("Wrong keys and policies are usage errors")
  func whatIsRefused() throws {
    let (bench, words) = try bench("ident,name\n1,x\n2,x\n,z\n")
    func refused(_ more: [String]) throws -> String {
      try bench.run(words + more, status: .usage).errorText
    }
    #expect(try refused(["--key", "idnet"]).contains("did you mean ident?"))
    #expect(try refused(["--on-conflict", "skip"]).contains("--key"))
    #expect(try refused(["--key", "ident", "--on-conflict", "merge"]).contains("merge"))
    let dry = try SheafProcess.run(words + ["--key", "ident", "--dry-run"])
    #expect(dry.status == Command.ExitStatus.dataRefused.rawValue)
    #expect(dry.errorText.contains("in.csv:4:1 (byte ") && dry.errorText.contains("is empty"))

    try bench.run(words + ["--limit", "2"])
    let before = try bench.export()
    let duplicate = try refused(["--key", "name"])
    #expect(duplicate.contains("the objects ") && duplicate.contains("'x'"), "\(duplicate)")
    #expect(try bench.export() == before)
    try bench.run(words + ["--key", "ident", "--on-conflict", "skip", "--max-rejects", "1"])
    #expect(try refused(["--key", "name"]).contains("has the key 'ident', not 'name'"))
    #expect(try bench.export() == before)
    try bench.run(["check", bench.database])
  }
}
