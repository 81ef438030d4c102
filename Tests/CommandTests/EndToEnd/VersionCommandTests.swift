import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Kept versions from the command line: keeping, listing, naming, reading and going back.
@Suite struct VersionCommandTests {
  private func users(_ suffix: String, _ ids: some Sequence<Int> = 1...50) -> String {
    "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func load(
    _ bench: Workbench, _ text: String, _ more: [String] = [], table: String = "users",
    status: Command.ExitStatus = .done
  ) throws -> Report {
    try bench.report(
      [
        "import", "-", "--into", bench.database, "--table", table, "--key", "id", "--on-conflict",
        "update",
      ] + more, input: text, status: status)
  }

  private func versions(_ bench: Workbench) throws -> [Report] {
    let list = try bench.report(["versions", bench.database])["versions"]
    return (0..<list.count).map { list[$0] }
  }

  private func names(_ bench: Workbench, _ more: String...) throws -> String {
    try bench.run(["query", bench.database, "id == 7", "--format", "csv"] + more).outputText
  }

  @Test(
    "A moment, a number of the list of imports and what watch has printed name the night that readers saw",
    arguments: [
      ["--delete-missing"], ["--publish", "end", "--batch-size", "1"], ["--publish", "batches"],
    ])
  func nightsThatAreSeenAtOnce(more: [String]) throws {
    let bench = try Workbench()
    func night(_ name: String, bad: Bool = false) throws {
      _ = try SheafProcess.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--on-conflict",
          "update", "--quiet",
        ] + more, input: Array("id,v\n1,\(name)\n2,\(name)\n\(bad ? "3,x,y\n" : "")".utf8))
    }
    func seen(_ version: String) throws -> String {
      try bench.run(
        ["query", bench.database, "id == 1", "--columns", "v", "--format", "csv", "--at", version]
      ).outputText
    }
    try night("one")
    try bench.run(["keep", bench.database, "--versions", "9"])
    try night("two")
    let newest = try versions(bench).last?["version"].int ?? 0
    System.sleep(milliseconds: 1100)
    let moment = "\(DateTime(clamping: Int64(System.secondsSince1970) * 1_000_000))"
    System.sleep(milliseconds: 1100)
    // With --publish batches the first batch of a night that fails is seen.
    if more != ["--publish", "batches"] { try night("bad", bad: true) }
    // What is not seen is not of another time.
    let times = try versions(bench).suffix(2).map { $0["time"].text }
    if more == ["--publish", "end", "--batch-size", "1"] { #expect(times[0] == times[1]) }
    #expect(try seen(moment) == "v\ntwo\n" && seen("\(newest)") == "v\ntwo\n")
    try night("three")
    #expect(try seen(moment) == "v\ntwo\n" && seen("\(newest)") == "v\ntwo\n")
    let list = try bench.run(["versions", bench.database]).outputText
    #expect(try versions(bench).map { $0["version"].int }.contains(newest), "\(list)")
    #expect(try versions(bench).count == 3, "\(list)")
    let watched = try bench.run(
      ["watch", bench.database, "--since", "\(newest)", "--idle", "0"]
    ).outputText
    #expect(watched.contains(#""v":{"old":"two","new":"three"}"#), "\(watched)")
    let changed = try bench.run(["diff", bench.database, "--format", "csv"]).outputText
    #expect(changed.contains("t,changed,1,v,two,three"), "\(changed)")
    try bench.run(["undo", bench.database, "--to", moment])
    #expect(try bench.export() == "id,v\n1,two\n2,two\n")
  }

  @Test("After a night that failed, diff and undo are about the one before")
  func failedNight() throws {
    let bench = try Workbench()
    func night(_ name: String, _ more: String, status: Command.ExitStatus = .done) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--on-conflict",
          "update", "--publish", "end", "--batch-size", "1", "--quiet",
        ], input: "id,v\n1,\(name)\n2,\(name)\n\(more)", status: status)
    }
    try night("one", "")
    try bench.run(["keep", bench.database, "--versions", "9"])
    try night("two", "")
    for _ in 0..<2 {
      try night("bad", "3,x,y\n", status: .dataRefused)
      #expect(
        try bench.run(["diff", bench.database, "--format", "csv"]).outputText.contains("one,two"))
      #expect(try versions(bench).count == 3)
    }
    try bench.run(["undo", bench.database])
    #expect(try bench.export() == "id,v\n1,one\n2,one\n")
  }

  @Test("Nights that fail one after the other keep one version more, not one each")
  func manyFailedNights() throws {
    let bench = try Workbench()
    let words = [
      "import", "-", "--into", bench.database, "--table", "t", "--key", "id", "--on-conflict",
      "update", "--publish", "end", "--batch-size", "1", "--quiet",
    ]
    try bench.run(words, input: "id,v\n1,one\n")
    try bench.run(["keep", bench.database, "--versions", "2"])
    for night in 0..<6 {
      try bench.run(words, input: "id,v\n1,bad\n2,x,y\n", status: .dataRefused)
      let database = try Database.open(bench.database)
      try database.write { _ = try $0.table("t").update(1, ["v": .text("\(night)")]) }
      try database.close()
    }
    // With the newest.
    #expect(try versions(bench).count == 4)
    try bench.run(words, input: "id,v\n1,good\n")
    #expect(try versions(bench).count == 3)
  }

  /// A job that ran twice: the second run has changed nothing that could be undone.
  @Test func aBadNightThatWasRepeated() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    let good = try names(bench)
    try bench.run(["keep", bench.database, "--versions", "5"])
    for _ in 0..<2 { _ = try load(bench, users("bad")) }
    #expect(try names(bench) != good)
    try bench.run(["undo", bench.database])
    #expect(try names(bench) == good)
    try bench.run(["undo", bench.database])
    #expect(try names(bench) != good)
  }

  /// A small night is one commit, also when its file has the name of the night before: each commit
  /// fills pages of its own, which kept versions then hold.
  @Test func aNightIsOneCommit() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    try bench.run(["keep", bench.database, "--versions", "3"])
    let first = try #require(bench.report(["info", bench.database])["version"].int)
    for night in 1...6 {
      _ = try load(bench, users("\(night)"))
      #expect(try bench.report(["info", bench.database])["version"].int == first + night)
    }
    #expect(try versions(bench).map { $0["version"].int } == (3...6).map { first + $0 })
    // The table knows the file of the newest night.
    #expect(try load(bench, users("6"), ["--resume"])["read"].int == 0)
  }

  @Test(
    "A moment between the first keep or tag and the next night finds what there was",
    arguments: [["keep", "--versions", "5"], ["tag", "first"]])
  func momentAfterTheFirstKeep(words: [String]) throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    try bench.run([words[0], bench.database] + words.dropFirst())
    let newest = try #require(versions(bench).last)
    let time = try #require(newest["time"].text)
    #expect(newest["run"].text ?? "" == "")
    #expect(try names(bench, "--at", time) == "id,name\n7,name 7 a\n")
    System.sleep(milliseconds: 1100)
    _ = try load(bench, users("b"))
    #expect(try versions(bench).last?["time"].text != time)
    if words[0] == "tag" { return }
    #expect(try names(bench, "--at", time) == "id,name\n7,name 7 a\n")
    try bench.run(["undo", bench.database, "--to", time])
    #expect(try names(bench) == "id,name\n7,name 7 a\n")
  }

  /// The time of a night, or a later one, stands for the version that the night made: nothing is
  /// undone.
  @Test func backToTheNewest() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    try bench.run(["keep", bench.database, "--versions", "5"])
    for night in ["b", "c"] { _ = try load(bench, users(night)) }
    let newest = try #require(versions(bench).last)
    let (number, time) = (
      try #require(newest["version"].int), try #require(newest["time"].text)
    )
    for name in [time, "2999-01-01", "\(number)"] {
      let refused = try bench.run(["undo", bench.database, "--to", name], status: .dataRefused)
      #expect(refused.errorText.contains("nothing to undo: what '\(name)' names is the newest"))
    }
    #expect(try names(bench) == "id,name\n7,name 7 c\n")
    #expect(try versions(bench).count == 3)
    #expect(
      try bench.run(["undo", bench.database]).outputText.contains(
        "'users' was changed (50 objects)"))
    #expect(try names(bench) == "id,name\n7,name 7 b\n")
  }

  /// The pages that an undone version had at the file's end come free while the version before is kept.
  @Test func longNightsTakenBack() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    try bench.run(["keep", bench.database, "--versions", "1"])
    _ = try load(bench, users("long", 1...2000), ["--batch-size", "10", "--durability", "full"])
    try bench.run(["undo", bench.database])
    for night in ["b", "c", "d"] {
      _ = try load(bench, users(night))
      try bench.run(["check", bench.database, "--deep"])
      #expect(try versions(bench).count == 2)
    }
  }

  @Test("Kept versions are listed, and read by query, export, info and check with --at")
  func nightsAreKeptAndRead() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    #expect(try versions(bench).count == 1)
    let before = try bench.read("t.sheaf")
    #expect(before[8] == 1)
    let said = try bench.report(["keep", bench.database, "--versions", "2"])
    #expect(said["versions"].int == 2 && said["kept"].count == 0)
    // The format number keeps earlier programs from writing to the file.
    #expect(try bench.read("t.sheaf")[8] == 2)
    for night in ["b", "c", "d"] { _ = try load(bench, users(night)) }
    let all = try versions(bench)
    #expect(all.count == 3)
    #expect(all.map { $0["newest"].bool } == [false, false, true])
    #expect(all.allSatisfy { $0["objects"].int == 50 })
    #expect(all[0]["run"].text == "sheaf import - into users")
    #expect(all[2]["bytesAlone"].isNull && (all[0]["bytesAlone"].int ?? -1) > 0)
    let numbers = all.compactMap { $0["version"].int }
    #expect(try names(bench) == "id,name\n7,name 7 d\n")
    #expect(try names(bench, "--at", "\(numbers[1])") == "id,name\n7,name 7 c\n")
    #expect(try names(bench, "--at", "\(numbers[0])") == "id,name\n7,name 7 b\n")
    let text = try bench.run(["versions", bench.database]).outputText
    #expect(text.contains("2 kept versions beside the newest") && text.contains("imports keep 2"))
    // Export, info and check read them too.
    #expect(try bench.export("--at", "\(numbers[0])").hasPrefix("id,name\n1,name 1 b\n"))
    let info = try bench.report(["info", bench.database, "--at", "\(numbers[0])"])
    #expect(info["version"].int == numbers[0] && info["newest"].bool == false)
    #expect(
      try bench.run(["info", bench.database]).outputText.contains("2 older versions are kept"))
    let check = try bench.report(["check", bench.database, "--at", "\(numbers[0])", "--deep"])
    #expect(check["ok"].bool == true && check["version"].int == numbers[0])
    let whole = try bench.report(["check", bench.database])
    #expect(whole["keptVersions"].count == 2)
    let missing = try bench.run(
      ["query", bench.database, "--at", "1000"], status: .usage)
    #expect(missing.errorText.contains("version '1000' is not kept; the newest is"))
    // Without kept versions the file has the earlier format again.
    let gone = try bench.report(["keep", bench.database, "--versions", "0"])
    #expect(gone["letGo"].count == 2)
    #expect(try bench.read("t.sheaf")[8] == 1)
  }

  @Test("An import keeps as many versions as it is told; without the option these stay as they are")
  func anImportKeepsWhatItIsTold() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"), ["--keep-versions", "3"])
    // The version before the first import is an empty database.
    #expect(try versions(bench).map { $0["objects"].int } == [0, 50])
    _ = try load(bench, users("b"), ["--keep-versions", "1", "--batch-size", "10"])
    #expect(try versions(bench).map { $0["objects"].int } == [50, 50])
    // Without the option nothing is kept and nothing let go.
    _ = try load(bench, users("c"))
    #expect(try versions(bench).count == 2)
    #expect(try names(bench, "--at", "\(versions(bench)[0]["version"].int ?? 0)").contains("7 a"))
    let bad = try bench.run(
      ["import", "-", "--into", bench.database, "--table", "users", "--keep-versions", "1001"],
      input: "id\n1\n", status: .usage)
    #expect(bad.errorText.contains("from 0 to 1000"))
  }

  @Test("A tagged version stays when others are dropped")
  func tagsStay() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    let tagged = try bench.report(["tag", bench.database, "good"])
    for night in ["b", "c"] { _ = try load(bench, users(night), ["--keep-versions", "1"]) }
    #expect(try versions(bench).count == 3)
    #expect(try names(bench, "--at", "good") == "id,name\n7,name 7 a\n")
    #expect(try versions(bench)[0]["tags"][0].text == "good")
    #expect(try versions(bench)[0]["version"].int == tagged["version"].int)
    let again = try bench.run(["tag", bench.database, "good"], status: .usage)
    #expect(again.errorText.contains("has the tag 'good'; drop it first"))
    for name in ["", "12", "2026-01-01"] {
      try bench.run(["tag", bench.database, name], status: .usage)
    }
    try bench.run(["tag", bench.database, "x", "--drop", "--at", "good"], status: .usage)
    let dropped = try bench.run(["tag", bench.database, "good", "--drop"]).outputText
    #expect(dropped.contains("has no tag 'good' any more"))
    #expect(try versions(bench).count == 2)
    try bench.run(["query", bench.database, "--at", "good"], status: .usage)
  }

  @Test("An import is undone with its checkpoint, so that the mended file can be imported")
  func aBadNightIsUndone() throws {
    let bench = try Workbench()
    try bench.write("u.csv", users("a"))
    let words = [
      "import", bench.path("u.csv"), "--into", bench.database, "--key", "id", "--on-conflict",
      "update", "--resume", "--keep-versions", "5", "--table", "users",
    ]
    try bench.run(words + ["--quiet"])
    try bench.write("u.csv", users("bad", 1...60))
    try bench.run(words + ["--quiet"])
    #expect(try names(bench).contains("bad"))
    let size = try System.status(path: bench.database).size
    let undone = try bench.report(["undo", bench.database])
    #expect(undone["tables"][0]["restored"].int == 50 && undone["tables"][0]["undone"].int == 60)
    #expect(try names(bench) == "id,name\n7,name 7 a\n")
    #expect(try System.status(path: bench.database).size <= size + 16_384)
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
    // The checkpoint went back, too: the corrected file is imported again, and so is the same one.
    try bench.write("u.csv", users("good", 1...60))
    let mended = try bench.report(words)
    #expect(mended["updated"].int == 50 && mended["imported"].int == 10)
    // Two undos, and an undo of the undo.
    try bench.run(["undo", bench.database])
    #expect(try names(bench).contains("7 a"))
    try bench.run(["undo", bench.database])
    #expect(try names(bench).contains("good"))
    let bad = try #require(undone["before"].int)
    try bench.run(["undo", bench.database, "--to", "\(bad)"])
    #expect(try names(bench).contains("bad"))
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  @Test("sheaf undo refuses to take back other changes, unless it is told which tables")
  func whatOthersHaveDoneIsNotLost() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    _ = try load(bench, users("b"), ["--keep-versions", "9"])
    _ = try load(bench, "id,n\n1,2\n", table: "orders")
    let refused = try bench.run(["undo", bench.database], status: .dataRefused)
    #expect(refused.errorText.contains("'orders' was created (1 object)"))
    #expect(refused.errorText.contains("'users' was changed (50 objects)"))
    #expect(refused.errorText.contains("--table") && refused.errorText.contains("--all"))
    try bench.run(["undo", bench.database, "--table", "users"])
    #expect(
      try bench.run(["query", bench.database, "--table", "orders", "--count"]).outputText == "1\n")
    #expect(try names(bench, "--table", "users").contains("7 a"))
    let nothing = try bench.run(
      ["undo", bench.database, "--to", "1000"], status: .usage)
    #expect(nothing.errorText.contains("is not kept"))
    try bench.run(["undo", bench.database, "--table", "no"], status: .usage)
    try bench.run(["undo", bench.database, "--table", "users", "--all"], status: .usage)
    let all = try bench.report(
      ["undo", bench.database, "--all", "--to", "\(versions(bench)[0]["version"].int ?? 0)"])
    #expect(all["tables"].count >= 1)
    let plain = try Workbench()
    _ = try load(plain, users("a"))
    let none = try plain.run(["undo", plain.database], status: .dataRefused)
    #expect(none.errorText.contains("there is nothing to undo"))
  }

  @Test("sheaf undo by itself takes back no more than the last import")
  func severalImportsStay() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a"))
    try bench.run(["tag", bench.database, "first"])
    _ = try load(bench, users("b"))
    // Nothing was changed.
    _ = try load(bench, users("b"))
    try bench.run(["undo", bench.database])
    #expect(try names(bench).contains("7 a"))
    _ = try load(bench, users("c"), ["--keep-versions", "0"])
    _ = try load(bench, users("d"), ["--keep-versions", "0"])
    let before = try bench.read("t.sheaf")
    let refused = try bench.run(["undo", bench.database, "--all"], status: .dataRefused)
    #expect(refused.errorText.contains("is older than 2 imports into table 'users'"))
    #expect(try bench.read("t.sheaf") == before)
    #expect(try names(bench).contains("7 d"))
    try bench.run(["undo", bench.database, "--to", "first"])
    #expect(try names(bench).contains("7 a"))
    // What the undoing has made is newer than its contents.
    try bench.run(["undo", bench.database])
    #expect(try names(bench).contains("7 d"))
    _ = try load(bench, users("e"), ["--keep-versions", "0"])
    try bench.run(["undo", bench.database], status: .dataRefused)
    #expect(try names(bench).contains("7 e"))
  }

  @Test("Compactions keep kept versions, unless told to drop them")
  func compactionsKeepThem() throws {
    let bench = try Workbench()
    _ = try load(bench, users("a", 1...3000))
    for night in ["b", "c"] {
      _ = try load(bench, users(night, stride(from: 1, to: 3000, by: 7)), ["--keep-versions", "5"])
    }
    let before = try versions(bench).compactMap { $0["version"].int }
    func contents() throws -> [String] {
      try before.dropLast().map { try bench.export("--at", "\($0)") }
    }
    let then = try contents()
    try bench.run(["compact", bench.database])
    #expect(try contents() == then)
    let shared = try System.status(path: bench.database).size
    try bench.run(["compact", bench.database, "--into", bench.path("copy.sheaf")])
    #expect(try bench.report(["versions", bench.path("copy.sheaf")])["versions"].count == 3)
    try bench.run(
      ["compact", bench.database, "--into", bench.path("alone.sheaf"), "--drop-versions"])
    #expect(try bench.report(["versions", bench.path("alone.sheaf")])["versions"].count == 1)
    try bench.run(["compact", bench.database, "--drop-versions"])
    #expect(try versions(bench).count == 1)
    #expect(try System.status(path: bench.database).size < shared)
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  /// An import that is killed and resumed keeps the version before its beginning, once.
  @Test func aKilledImportIsUndoneAsOne() throws {
    let bench = try Workbench()
    try bench.write("u.csv", users("a", 1...200))
    let words = [
      "import", bench.path("u.csv"), "--into", bench.database, "--key", "id", "--on-conflict",
      "update", "--resume", "--keep-versions", "5", "--table", "users", "--batch-size", "20",
    ]
    try bench.run(words + ["--quiet"])
    try bench.write("u.csv", users("b", 1...2000))
    #if DEBUG
      let killed = try SheafProcess.run(
        words + ["--durability", "full"],
        environment: ["SHEAF_FAULT": "write:60:kill:\(bench.path("faults"))"])
      #expect(killed.signal != nil || killed.status != 0)
    #endif
    try bench.run(words + ["--quiet"])
    let kept = try versions(bench)
    #expect(kept.map { $0["objects"].int } == [0, 200, 2000])
    try bench.run(["undo", bench.database])
    #expect(try names(bench) == "id,name\n7,name 7 a\n")
  }
}
