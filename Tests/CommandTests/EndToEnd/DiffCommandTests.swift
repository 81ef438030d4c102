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

  @Test("sheaf diff prints the same changes as text, CSV and JSON")
  func formats() throws {
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

  /// A filter that fits no table, or only some of them, prints nothing, not even a header.
  @Test(arguments: [[], ["--summary"]], ["csv", "jsonl", "table"])
  func filtersThatDoNotFit(more: [String], format: String) throws {
    let bench = try filled()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "zoo", "--quiet"], input: "beast\nbear\n"
    )
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "users", "--key", "id", "--quiet",
        "--on-conflict", "update",
      ], input: "id,n\n2,9\n")
    let list = try bench.report(["versions", bench.database])["versions"]
    let first = try #require(list[1]["version"].int)
    for filter in ["none == 1", "beast == 'bear'", "n == 9"] {
      let result = try bench.run(
        ["diff", bench.database, "--from", "\(first)", "--where", filter, "--format", format]
          + more,
        status: .usage)
      #expect(result.outputText == "", "\(filter)")
    }
    let one = try bench.run(
      [
        "diff", bench.database, "--from", "\(first)", "--where", "n == 9", "--table", "users",
        "--format", format,
      ] + more)
    #expect(one.outputText != "")
  }

  /// Numbers that JSON does not have are written as text, also in keys of deleted objects.
  @Test func keysThatAreNoNumbers() throws {
    let bench = try Workbench()
    let rows = "x,v\n-inf,0\n1.5,1\ninf,2\n"
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--key", "x", "--types",
        "x:double",
        "--quiet",
      ], input: rows)
    try bench.run(["tag", bench.database, "before"])
    try bench.run(["delete", bench.database, "v != 1"])
    for words in [
      ["diff", "--from", "before", "--format", "jsonl"], ["watch", "--since", "before"],
    ] {
      let end = words[0] == "watch" ? ["--idle", "0"] : []
      let lines = try bench.run([words[0], bench.database] + words.dropFirst() + end).outputText
        .split(separator: "\n").map { try Report(Array($0.utf8) + [0x0A]) }
        .filter { $0["change"].text != nil }
      #expect(lines.map { $0["change"].text } == ["deleted", "deleted"])
      #expect(lines.map { $0["key"].text } == ["-inf", "inf"])
    }
  }

  @Test("Two versions and tables can be chosen")
  func versionsAndTables() throws {
    let bench = try filled()
    let list = try bench.report(["versions", bench.database])["versions"]
    let numbers = (0..<list.count).compactMap { list[$0]["version"].int }
    // From the empty database on, the table counts as created.
    let all = try bench.run(
      ["diff", bench.database, "--from", "\(numbers[0])", "--summary", "--format", "csv"]
    ).outputText
    #expect(all == "table,inserted,deleted,changed\nusers,4,0,0\n")
    // Backwards.
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

  /// A filter may use the columns and types of both versions, in either direction.
  @Test func columnsOfBothVersions() throws {
    let bench = try Workbench()
    func load(_ text: String, _ more: String...) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
          "--on-conflict",
          "update", "--quiet", "--keep-versions", "5",
        ] + more, input: text)
    }
    try load("id,n,gone\n1,5,a\n2,6,b\n3,7,c\n")
    // The first widens n to text; the second adds a column.
    try load("id,n,extra\n1,x,9\n2,6,8\n4,5,7\n")
    func diff(_ filter: String, _ more: String...) throws -> [Substring] {
      try bench.run(
        ["diff", bench.database, "--format", "csv", "--where", filter] + more
      ).outputText.split(separator: "\n").dropFirst().map { $0 }
    }
    #expect(try diff("n == 'x'") == ["users,changed,1,n,5,x", "users,changed,1,extra,,9"])
    // Compared as text in both versions.
    #expect(try diff("n == '5'").count == 2 + 3)
    // A comparison that only the earlier type allows.
    #expect(try diff("n < 6") == ["users,changed,1,n,5,x", "users,changed,1,extra,,9"])
    #expect(try diff("extra == 8") == ["users,changed,2,extra,,8"])
    #expect(try diff("extra is null").count == 3)
    #expect(
      try diff("not extra > 7") == [
        "users,inserted,4,id,,4", "users,inserted,4,n,,5", "users,inserted,4,extra,,7",
      ])
    let kept = try bench.report(["versions", bench.database])["versions"]
    let (from, to) = (kept[kept.count - 1], kept[kept.count - 2])
    let back = ["\(from["version"].int ?? 0)", "\(to["version"].int ?? 0)"]
    #expect(
      try diff("extra == 8", "--from", back[0], "--to", back[1]) == ["users,changed,2,extra,8,"])
    let unknown = try bench.run(
      ["diff", bench.database, "--where", "none == 1"], status: .usage)
    #expect(unknown.errorText.contains("gone"))
    try bench.run(["diff", bench.database, "--where", "extra == 'x'"], status: .usage)
    // `sheaf watch` prints the same.
    let watched = try bench.run([
      "watch", bench.database, "--since", back[1], "--idle", "0", "--table", "users", "--where",
      "n == 'x' or extra == 8",
    ]).outputText
    #expect(watched.split(separator: "\n").count == 4)
  }

  /// Values of every type are written as by an export: to the letter in CSV and tables, as numbers
  /// where JSON has them.
  @Test func everyType() throws {
    let bench = try Workbench()
    let header = "id,n,d,b,day,t,at,money,share,u,x,s\n"
    let first =
      "1,10,1.50,true,2026-01-02,10:11,2026-01-02T03:04:05Z,\"$1,234.56\",12.5%,"
      + "f81d4fae-7dec-11d0-a765-00a0c91e6bf6,123456789012345678901234567890.12,plain\n"
    let second =
      "1,11,1.5,false,2026-01-03,10:12,2026-01-02T03:04:06Z,\"$1,234.57\",12.50%,"
      + "F81D4FAE-7dec-11d0-a765-00a0c91e6bf7,123456789012345678901234567890.13,\"a\nb,\"\"c\"\"\"\n"
    let types = "u:uuid,x:decimal"
    for (text, policy) in [(header + first, "error"), (header + second, "update")] {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--types", types,
          "--on-conflict", policy, "--quiet", "--keep-versions", "5",
        ], input: text)
    }
    let csv = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(
      csv == """
        table,change,key,column,old,new
        t,changed,1,n,10,11
        t,changed,1,d,1.50,1.5
        t,changed,1,b,true,false
        t,changed,1,day,2026-01-02,2026-01-03
        t,changed,1,t,10:11,10:12
        t,changed,1,at,2026-01-02T03:04:05Z,2026-01-02T03:04:06Z
        t,changed,1,money,"$1,234.56","$1,234.57"
        t,changed,1,share,12.5%,12.50%
        t,changed,1,u,f81d4fae-7dec-11d0-a765-00a0c91e6bf6,F81D4FAE-7dec-11d0-a765-00a0c91e6bf7
        t,changed,1,x,123456789012345678901234567890.12,123456789012345678901234567890.13
        t,changed,1,s,plain,"a
        b,""c""\"

        """)
    let lines = try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText
    #expect(
      lines == #"{"table":"t","change":"changed","key":1,"columns":{"n":{"old":10,"new":11},"#
        + #""d":{"old":1.50,"new":1.5},"b":{"old":true,"new":false},"#
        + #""day":{"old":"2026-01-02","new":"2026-01-03"},"#
        + #""t":{"old":"10:11:00","new":"10:12:00"},"#
        + #""at":{"old":"2026-01-02T03:04:05Z","new":"2026-01-02T03:04:06Z"},"#
        + #""money":{"old":1234.56,"new":1234.57},"share":{"old":0.125,"new":0.125},"#
        + #""u":{"old":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","#
        + #""new":"f81d4fae-7dec-11d0-a765-00a0c91e6bf7"},"#
        + #""x":{"old":123456789012345678901234567890.12,"new":123456789012345678901234567890.13},"#
        + #""s":{"old":"plain","new":"a\nb,\"c\""}}}"# + "\n")
    let text = try bench.run(["diff", bench.database]).outputText
    for cell in ["$1,234.57", "12.50%", "890.13", "0a0c91e6bf7", #"a\nb"#, "10:12"] {
      #expect(text.contains(cell), "\(cell)")
    }
    // From before the table existed: whole objects, not single values.
    let list = try bench.report(["versions", bench.database])["versions"]
    let oldest = try #require(list[0]["version"].int)
    let all = try bench.run(
      ["diff", bench.database, "--from", "\(oldest)", "--format", "jsonl"]
    ).outputText
    #expect(all.contains(#""change":"inserted","key":1,"object":{"id":1,"n":11,"d":1.5,"#))
    #expect(all.contains(#""x":123456789012345678901234567890.13,"#))
  }

  /// A key that its column's new type cannot read is written as it is spelled.
  @Test func keysOfAnotherType() throws {
    let bench = try Workbench()
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--key", "k", "--types", "k:text",
        "--quiet",
      ], input: "k,v\nabc,1\n5,2\n6,3\n")
    try bench.run(["tag", bench.database, "start"])
    try bench.run(["delete", bench.database, "k == 'abc'"])
    try bench.run(["alter", bench.database, "--type", "k:int"])
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update",
        "--quiet",
      ], input: "k,v\n5,20\n6,30\n")
    for command in [
      ["diff", "--from", "start", "--format", "jsonl"], ["watch", "--since", "start"],
    ] {
      let more = command[0] == "watch" ? ["--idle", "0"] : []
      let lines = try bench.run([command[0], bench.database] + command.dropFirst() + more)
        .outputText.split(separator: "\n").filter { $0.contains("change") }
      #expect(
        lines == [
          #"{"table":"t","change":"deleted","key":"abc","object":{"k":"abc","v":1}}"#,
          #"{"table":"t","change":"changed","key":5,"columns":{"v":{"old":2,"new":20}}}"#,
          #"{"table":"t","change":"changed","key":6,"columns":{"v":{"old":3,"new":30}}}"#,
        ])
    }
  }

  /// After keys were changed in place no key is reported twice, so that a copy by keys becomes the
  /// same.
  @Test func keysThatWereChanged() throws {
    let bench = try Workbench()
    func load(_ text: String, _ more: String...) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update",
          "--quiet",
        ] + more, input: text)
    }
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--key", "k", "--quiet"],
      input: "k,id,v\na,1,x\nb,2,y\nc,3,z\n")
    try bench.run(["tag", bench.database, "start"])
    try bench.run(["alter", bench.database, "--key", "id"])
    try load("id,k\n1,b\n3,d\n", "--delete-missing", "--max-deletes", "1")
    try bench.run(["alter", bench.database, "--key", "k"])
    let csv = try bench.run(["diff", bench.database, "--from", "start", "--format", "csv"])
    #expect(
      csv.outputText == """
        table,change,key,column,old,new
        t,deleted,a,k,a,
        t,deleted,a,id,1,
        t,deleted,a,v,x,
        t,changed,b,id,2,1
        t,changed,b,v,y,x
        t,inserted,d,k,,d
        t,inserted,d,id,,3
        t,inserted,d,v,,z
        t,deleted,c,k,c,
        t,deleted,c,id,3,
        t,deleted,c,v,z,

        """)
    #expect(
      try bench.run(
        ["diff", bench.database, "--from", "start", "--summary", "--format", "csv"]
      ).outputText.hasSuffix("t,1,2,1\n"))
  }

  @Test("A filter of an unknown column is refused where nothing differs, too")
  func filterOfNothing() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--quiet"],
      input: "id,v\n1,x\n")
    try bench.run(["tag", bench.database, "start"])
    for more in [[], ["--table", "t"]] {
      let words = ["diff", bench.database, "--from", "start"] + more
      try bench.run(words + ["--where", "v == 'x'"])
      try bench.run(words + ["--where", "w == 'x'"], status: .usage)
    }
  }

  @Test("The key of the earlier version is found where its column has another name")
  func keyOfTheEarlierVersion() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--quiet"],
      input: "a,id,v\n-,1,x\n-,2,y\n")
    try bench.run(["tag", bench.database, "start"])
    let alter = ["alter", bench.database, "--no-key", "--rename", "id:v,v:id", "--drop", "a"]
    try bench.run(alter)
    try bench.run(["delete", bench.database, "v == 2"])
    let csv = try bench.run(["diff", bench.database, "--from", "start", "--format", "csv"])
    let lines = csv.outputText.split(separator: "\n")
    #expect(lines.contains("t,deleted,2,v,2,") && lines.contains("t,deleted,2,id,y,"), "\(lines)")
    #expect(lines.contains("t,changed,1,a,-,"), "\(lines)")
  }

  /// One entry, with the value that has gone and the one that has come, each as its column's type has it.
  @Test("Nights that changed nothing differ from nothing, and a tag hides no night")
  func unchangedNights() throws {
    let bench = try Workbench()
    func night(_ text: String, _ more: [String] = [], status: Command.ExitStatus = .done) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--key", "k", "--on-conflict",
          "update",
        ] + more, input: "k,v\n\(text)", status: status)
    }
    func summary() throws -> String {
      try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    }
    try night("1,a\n2,a\n")
    try bench.run(["keep", bench.database, "--versions", "2"])
    try night("1,b\n2,a\n")
    let changed = try summary()
    #expect(changed.contains("t,changed,1,v,a,b"))
    try bench.run(["tag", bench.database, "good"])
    #expect(try summary() == changed)
    // What is still pending is not seen: the last night that was is told.
    let pending = ["--publish", "end", "--batch-size", "1"]
    try night("2,c\n3,x,y\n", pending, status: .dataRefused)
    #expect(try summary() == changed)
    try bench.run(["import", "--into", bench.database, "--table", "t", "--abandon"])
    #expect(try summary() == changed)
    // Another table's import that has not come to its end is no matter.
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "b"] + pending, input: "k\n1\n2,x\n",
      status: .dataRefused)
    #expect(try summary() == changed)
    let header = try #require(changed.split(separator: "\n").first)
    for _ in 1...3 {
      try night("1,b\n2,a\n", pending)
      #expect(try summary() == header + "\n")
    }
    for _ in 1...3 {
      try night("1,b\n2,a\n")
      #expect(try summary() == header + "\n")
      let own = try bench.run(["diff", bench.database, "--format", "csv", "--table", "t"])
      #expect(own.outputText == header + "\n")
    }
  }

  @Test("A column that was dropped and came back is one")
  func replacedColumn() throws {
    let bench = try Workbench()
    func load(_ text: String) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--quiet",
          "--on-conflict", "update",
        ], input: text)
    }
    func diff(_ more: String...) throws -> String {
      try bench.run(["diff", bench.database, "--from", "start"] + more).outputText
    }
    try load("id,v\n1,1\n2,2\n3,3\n")
    try bench.run(["tag", bench.database, "start"])
    try bench.run(["alter", bench.database, "--drop", "v"])
    try load("id,v\n1,x\n2,2\n4,y\n")
    try bench.run(["delete", bench.database, "id == 3"])
    #expect(
      try diff("--format", "jsonl") == """
        {"table":"t","change":"changed","key":1,"columns":{"v":{"old":1,"new":"x"}}}
        {"table":"t","change":"deleted","key":3,"object":{"id":3,"v":3}}
        {"table":"t","change":"inserted","key":4,"object":{"id":4,"v":"y"}}

        """)
    #expect(
      try diff("--format", "csv") == """
        table,change,key,column,old,new
        t,changed,1,v,1,x
        t,deleted,3,id,3,
        t,deleted,3,v,3,
        t,inserted,4,id,,4
        t,inserted,4,v,,y

        """)
    #expect(try diff("--format", "csv", "--summary").hasSuffix("\nt,1,1,1\n"))
    let watched = try bench.run(
      ["watch", bench.database, "--since", "start", "--idle", "0", "--table", "t"]
    ).outputText
    #expect(watched.contains("\"columns\":{\"v\":{\"old\":1,\"new\":\"x\"}}}"), "\(watched)")
    // The name of a column that has gone may be that of one that was there.
    try bench.run(["alter", bench.database, "--drop", "v"])
    try bench.run(["alter", bench.database, "--rename", "id:v"])
    #expect(
      try diff("--format", "jsonl").hasPrefix(
        "{\"table\":\"t\",\"change\":\"changed\",\"key\":1,\"columns\":{\"v_2\":{\"old\":1,\"new\":null}}}"
      ))
  }

  /// Bytes that are no text are written as by an export.
  @Test func bytes() throws {
    let bench = try Workbench()
    let database = try Database.open(bench.database)
    try database.write { transaction in
      try transaction.keepVersions(3)
      try transaction.createTable("t", columns: [Column("b", .data)])
      _ = try transaction.table("t").insert([.data([1, 2])])
    }
    try database.write { transaction in
      try transaction.keepBase()
      _ = try transaction.table("t").update(1, ["b": .data([255])])
    }
    try database.close()
    let csv = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(csv == "table,change,key,column,old,new\nt,changed,1,b,AQI=,/w==\n")
    let line = try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText
    #expect(line.contains(#""b":{"old":"AQI=","new":"/w=="}"#))
    // No bytes are not null.
    let again = try Database.open(bench.database)
    try again.write { _ = try $0.table("t").update(1, ["b": .data([])]) }
    try again.close()
    let empty = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(empty == "table,change,key,column,old,new\nt,changed,1,b,AQI=,\"\"\n")
    #expect(try bench.export() == "b\n\"\"\n")
  }

  @Test("The last import of a table is found behind others into other tables")
  func behindOtherTables() throws {
    let bench = try Workbench()
    func load(_ table: String, _ values: String) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", table, "--key", "id",
          "--on-conflict", "update", "--keep-versions", "20", "--quiet",
        ], input: "id,v\n" + values)
    }
    try load("a", "1,x\n")
    try load("a", "1,y\n")
    try load("b", "1,x\n")
    try load("b", "1,z\n")
    let own = try bench.run(["diff", bench.database, "--table", "a", "--format", "csv"]).outputText
    #expect(own == "table,change,key,column,old,new\na,changed,1,v,x,y\n")
    let other = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(other == "table,change,key,column,old,new\nb,changed,1,v,x,z\n")
    try bench.run(["keep", bench.database, "--versions", "1"])
    let same = try bench.run(["diff", bench.database, "--table", "a", "--format", "csv"]).outputText
    #expect(same == "table,change,key,column,old,new\n")
  }
}
