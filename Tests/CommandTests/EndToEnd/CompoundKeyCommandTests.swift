import Foundation
import Testing

@testable import Command

/// Keys of several columns on the command line: `--key store,sku`.
@Suite struct CompoundKeyCommandTests {
  private func load(_ text: String, _ more: String...) throws -> Workbench {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet", "--keep-versions", "5"]
        + more, input: text)
    return bench
  }

  private func update(_ bench: Workbench, _ text: String, _ more: String...) throws {
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update",
        "--keep-versions", "5", "--quiet",
      ] + more, input: text)
  }

  @Test("Commands use a key of two columns through a night")
  func aNight() throws {
    let bench = try load("store,sku,n\ns1,5,1\ns1,7,2\n\"s,2\",5,3\n", "--key", "store,sku")
    let info = try bench.report(["info", bench.database])
    #expect(info["format"].int == 5)
    let table = info["tables"][0]
    #expect(table["key"].text == "store,sku")
    #expect((0..<2).map { table["keyColumns"][$0].text } == ["store", "sku"])
    #expect(
      try bench.run(["info", bench.database]).outputText.contains(
        "The primary key is store, sku; its index takes "))
    try update(
      bench, "store,sku,n\ns1,7,9\n\"s,2\",8,4\n", "--key", "sku,store", "--changes",
      bench.path("c.jsonl"))
    #expect(try bench.export() == "store,sku,n\ns1,5,1\ns1,7,9\n\"s,2\",5,3\n\"s,2\",8,4\n")
    let csv = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(
      csv == """
        table,change,key,column,old,new
        t,changed,"s1,7",n,2,9
        t,inserted,\"""s,2"",8",store,,"s,2"
        t,inserted,\"""s,2"",8",sku,,8
        t,inserted,\"""s,2"",8",n,,4

        """, "\(csv)")
    let lines = try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText
    #expect(
      lines == """
        {"table":"t","change":"changed","key":["s1",7],"columns":{"n":{"old":2,"new":9}}}
        {"table":"t","change":"inserted","key":["s,2",8],"object":{"store":"s,2","sku":8,"n":4}}

        """, "\(lines)")
    #expect(try bench.text("c.jsonl") == lines)
    #expect(try bench.run(["diff", bench.database]).outputText.contains("s1, 7"))
    let found = try bench.run(
      ["query", bench.database, "store == 's1' and sku == 7", "--format", "csv"]
    ).outputText
    #expect(found == "store,sku,n\ns1,7,9\n")
    try bench.run(["check", "--deep", bench.database])
    try bench.run(["undo", bench.database])
    #expect(try bench.export() == "store,sku,n\ns1,5,1\ns1,7,2\n\"s,2\",5,3\n")
    try bench.run(["check", "--deep", bench.database])
  }

  /// An object that was deleted and came back has the same key: it counts as changed, or not.
  @Test func whatCameBackIsToldByItsKey() throws {
    let bench = try load("a,b,n\nx,yz,1\nxy,z,2\n", "--key", "a,b")
    try update(bench, "a,b,n\nxy,z,2\nx,yz,5\n", "--truncate")
    let lines = try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText
    #expect(
      lines
        == "{\"table\":\"t\",\"change\":\"changed\",\"key\":[\"x\",\"yz\"],\"columns\":{\"n\":{\"old\":1,\"new\":5}}}\n",
      "\(lines)")
  }

  @Test("A key's columns may have commas in their names")
  func namesWithCommas() throws {
    let bench = try load(
      "\"Last, first\",n\n\"A, b\",1\n\"A, b\",2\n", "--key", "\"Last, first\",n")
    #expect(
      try bench.report(["info", bench.database])["tables"][0]["key"].text == "\"Last, first\",n")
    for key in ["n,n", "n,", "\"n"] {
      let words = ["import", "-", "--into", bench.database, "--table", "u", "--key", key]
      let error = try bench.run(words, input: "n\n1\n", status: .usage).errorText
      #expect(error.contains("--key"), "\(error)")
    }
    let error = try bench.run(
      ["import", "-", "--into", bench.database, "--table", "u", "--key", "n,m"], input: "n\n1\n",
      status: .usage
    ).errorText
    #expect(error.contains("'m'"), "\(error)")
  }

  @Test(
    "A key with a column that the input lacks is refused",
    arguments: ["nix", "store,nix", "nix,store"])
  func missingColumns(key: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "store,sku\na,b\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--key", key]
    let error = try bench.run(words, status: .usage).errorText
    #expect(error.contains("no column 'nix'"), "\(error)")
    #expect(!FileManager.default.fileExists(atPath: bench.database))
  }

  @Test("sheaf alter sets and removes a key of several columns")
  func alter() throws {
    let bench = try load("a,b,c\n1,1,x\n1,2,x\n2,1,y\n")
    let error = try bench.run(
      ["alter", bench.database, "--key", "a,c"], status: .dataRefused
    ).errorText
    #expect(error.contains("both have '1, x'") && error.contains("nothing was changed"), "\(error)")
    let report = try bench.report(["alter", bench.database, "--key", "b,a"])
    #expect(report["changes"][0].text == "'b', 'a' are the key together", "\(report)")
    #expect(try bench.report(["info", bench.database])["tables"][0]["key"].text == "b,a")
    try bench.run(["alter", bench.database, "--drop", "a"], status: .usage)
    for key in ["a,a", "a,none"] {
      try bench.run(["alter", bench.database, "--key", key], status: .usage)
    }
    // Parts of a key keep the spellings of their types, and messages name objects by whole keys.
    let misfit = try SheafProcess.run(
      ["alter", bench.database, "--type", "c:int", "--report", "json"])
    #expect(misfit.status == Command.ExitStatus.dataRefused.rawValue)
    #expect(misfit.outputText.contains("\"1, 1\""), "\(misfit.outputText)")
    let dropped = try bench.report(["alter", bench.database, "--no-key"])
    #expect(dropped["changes"][0].text == "'b', 'a' are not the key any more")
    #expect(try bench.report(["info", bench.database])["tables"][0]["keyColumns"].count == 0)
    try bench.run(["check", "--deep", bench.database])
  }
}
