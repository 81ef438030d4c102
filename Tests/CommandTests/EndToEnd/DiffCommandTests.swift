import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf diff`: what a night has changed, in every format.
@Suite struct DiffCommandTests {
  private func filled() throws -> Workbench {
    let bench = try Workbench()
    func load(_ text: String, _ more: String...) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
          "--on-conflict",
          "update", "--quiet", "--keep-versions", "5",
        ] + more, input: text)
    }
    try load("id,name,n\n1,a,1\n2,b,2\n3,\"c,c\",3\n")
    try load("id,name,n\n2,b,7\n3,d,8\n4,\"say \"\"e\"\"\",\n")
    return bench
  }

  @Test func formats() throws {
    let bench = try filled()
    let csv = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(
      csv == """
        table,change,key,column,old,new
        users,changed,2,n,2,7
        users,changed,3,name,"c,c",d
        users,changed,3,n,3,8
        users,inserted,4,id,,4
        users,inserted,4,name,,"say ""e""\"

        """)
    let lines = try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText
      .split(separator: "\n").map { try Report(Array($0.utf8) + [0x0A]) }
    #expect(
      lines.count == 3 && lines.map { $0["change"].text } == ["changed", "changed", "inserted"])
    #expect(lines[0]["key"].int == 2 && lines[0]["columns"]["n"]["new"].int == 7)
    #expect(lines[2]["object"]["name"].text == "say \"e\"" && lines[2]["object"]["n"].isNull)
    let text = try bench.run(["diff", bench.database]).outputText
    #expect(text.contains("inserted") && text.contains("c,c"))
    let summary = try bench.run(
      ["diff", bench.database, "--summary", "--format", "csv"]
    ).outputText
    #expect(summary == "table,inserted,deleted,changed\nusers,1,0,2\n")
    let filtered = try bench.run(
      ["diff", bench.database, "--format", "csv", "--where", "n == 2"]
    ).outputText
    #expect(filtered == "table,change,key,column,old,new\nusers,changed,2,n,2,7\n")
  }

  @Test func versionsAndTables() throws {
    let bench = try filled()
    let list = try bench.report(["versions", bench.database])["versions"]
    let numbers = (0..<list.count).compactMap { list[$0]["version"].int }
    // From the empty database on: the table was created.
    let all = try bench.run(
      ["diff", bench.database, "--from", "\(numbers[0])", "--summary", "--format", "csv"]
    ).outputText
    #expect(all == "table,inserted,deleted,changed\nusers,4,0,0\n")
    // And backwards.
    let back = try bench.run(
      [
        "diff", bench.database, "--from", "\(numbers[2])", "--to", "\(numbers[1])", "--summary",
        "--format", "csv",
      ]
    ).outputText
    #expect(back == "table,inserted,deleted,changed\nusers,0,1,2\n")
    let none = try bench.run(
      ["diff", bench.database, "--from", "\(numbers[2])", "--format", "csv"]
    ).outputText
    #expect(none == "table,change,key,column,old,new\n")
    try bench.run(["diff", bench.database, "--table", "no"], status: .usage)
    try bench.run(["diff", bench.database, "--from", "nobody"], status: .usage)
    try bench.run(["undo", bench.database])
    let undone = try bench.run(
      ["diff", bench.database, "--summary", "--format", "csv"]
    ).outputText
    #expect(undone == "table,inserted,deleted,changed\nusers,0,1,2\n")
    let plain = try Workbench()
    try plain.run(["import", "-", "--into", plain.database, "--quiet"], input: "a\n1\n")
    try plain.run(["diff", plain.database], status: .usage)
  }
}
