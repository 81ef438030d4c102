import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// `sheaf import --publish end`: readers see the old table, or all of the import.
@Suite struct PublishCommandTests {
  private func rows(_ range: ClosedRange<Int>, _ suffix: String) -> String {
    range.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func csv(_ range: ClosedRange<Int>, _ suffix: String) -> String {
    "id,name\n" + rows(range, suffix)
  }

  private func words(_ bench: Workbench, _ names: [String], _ more: [String] = []) -> [String] {
    ["import"] + names.map { bench.path($0) } + [
      "--into", bench.database, "--table", "t", "--key", "id", "--on-conflict", "update",
      "--batch-size", "100",
    ] + more
  }

  private let publish = ["--publish", "end"]

  /// A table of 500 objects, and two files that change and add some.
  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("old.csv", csv(1...500, "old"))
    try bench.write("1.csv", csv(301...800, "new"))
    try bench.write("2.csv", csv(801...1000, "new"))
    try bench.run(words(bench, ["old.csv"]))
    return bench
  }

  /// The pending table does not include records of another import whose input was not complete when it
  /// was begun.
  @Test func inputsBegunBySomebodyElse() throws {
    let bench = try filled()
    try bench.run(words(bench, ["1.csv"], ["--limit", "150"]))
    try bench.write("2.csv", csv(801...999, "new") + "1000,too,many\n")
    try bench.run(words(bench, ["2.csv"], publish + ["--max-rejects", "0"]), status: .dataRefused)
    #expect(try pending(bench)[0]["objects"].int == 600)
    // The input is complete now; the pending table does not know that.
    let plain = try SheafProcess.run(words(bench, ["1.csv"]))
    #expect(plain.status == 0)
    let report = try bench.report(
      words(bench, ["2.csv"], publish + ["--resume", "--max-rejects", "1"]))
    #expect(report["published"].bool == true && report["merged"]["inserted"].int == 300)
    let lines = try bench.export().split(separator: "\n").sorted()
    let expected = csv(1...300, "old") + rows(301...999, "new")
    #expect(lines == expected.split(separator: "\n").sorted())
  }

  @Test("An input that was renamed is named by its contents")
  func renamedBesideChanged() throws {
    let bench = try Workbench()
    try bench.write("a.csv", csv(1...200, "a"))
    try bench.write("b.csv", csv(201...399, "b") + "400,too,many\n")
    let more = publish + ["--resume", "--max-rejects", "0", "--same-input", "contents"]
    try bench.run(words(bench, ["a.csv", "b.csv"], more), status: .dataRefused)
    try bench.write("b.csv", csv(201...300, "c") + rows(301...400, "b"))
    try FileManager.default.moveItem(atPath: bench.path("a.csv"), toPath: bench.path("a2.csv"))
    try bench.run(words(bench, ["a2.csv", "b.csv"], more))
    #expect(try bench.export() == csv(1...200, "a") + rows(201...300, "c") + rows(301...400, "b"))
  }

  @Test("What is pending of an input that is not named is not dropped for another one's change")
  func unnamedBesideChanged() throws {
    let bench = try Workbench()
    try bench.write("a.csv", csv(1...200, "a"))
    try bench.write("b.csv", csv(201...399, "b") + "400,too,many\n")
    let more = publish + ["--resume", "--max-rejects", "0"]
    try bench.run(words(bench, ["a.csv", "b.csv"], more), status: .dataRefused)
    // As the message says; but the changed input is read anew.
    try bench.write("b.csv", csv(201...300, "c") + rows(301...400, "b"))
    let refused = try bench.run(words(bench, ["b.csv"], more), status: .usage)
    #expect(refused.errorText.contains("a.csv") && refused.errorText.contains("name it too"))
    #expect(try pending(bench).count == 1)
    let report = try bench.report(words(bench, ["a.csv", "b.csv"], more))
    #expect(report["published"].bool == true)
    #expect(try bench.export() == csv(1...200, "a") + rows(201...300, "c") + rows(301...400, "b"))
    // What the visible table has is not lost with what is pending.
    try bench.write("c.csv", csv(401...499, "c") + "500,too,many\n")
    try bench.run(words(bench, ["a.csv", "c.csv"], more), status: .dataRefused)
    try bench.write("c.csv", csv(401...500, "d"))
    try bench.run(words(bench, ["c.csv"], more))
    #expect(try bench.export().split(separator: "\n").count == 501)
  }

  private var old: String { csv(1...500, "old") }
  private var new: String { csv(1...300, "old") + rows(301...1000, "new") }

  private func pending(_ bench: Workbench) throws -> Report {
    try bench.report(["info", bench.database])["pending"]
  }

  #if DEBUG
    /// Kills an import at a call, if the import makes that call.
    private func kill(
      _ bench: Workbench, _ call: String, _ number: Int, _ words: [String]
    ) throws -> Bool {
      let result = try SheafProcess.run(
        words, environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
      // A reader removes the lock file of a killed process.
      try bench.run(["info", bench.database])
      return result.signal == System.killSignal
    }

    /// A bench with two pending batches.
    private func interrupted() throws -> Workbench {
      let bench = try filled()
      let words = words(bench, ["1.csv", "2.csv"], publish + ["--durability", "full"])
      #expect(try kill(bench, "write", 9, words))
      #expect(try bench.export() == old)
      #expect(try pending(bench).count == 1)
      return bench
    }

    @Test("Killed at any write or flush: the old table, or the new one; and --resume goes on")
    func kills() throws {
      for (call, step) in [
        ("write", Effort.isLong ? 1 : 3), ("flush", Effort.isLong ? 1 : 5),
      ] {
        let bench = try filled()
        let bytes = try bench.read("t.sheaf")
        let words = words(bench, ["1.csv", "2.csv"], publish + ["--durability", "full"])
        var states: [String: Int] = [:]
        for number in stride(from: 1, to: 200, by: step) {
          try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
          let wasKilled = try kill(bench, call, number, words)
          let check = try bench.report(["check", bench.database, "--deep"])
          #expect(check["ok"].bool == true, "\(call) \(number)")
          let seen = try bench.export()
          #expect(seen == old || seen == new, "\(call) \(number)")
          states[
            seen == new ? "new" : try pending(bench).count > 0 ? "pending" : "old", default: 0] += 1
          let report = try bench.report(words + ["--resume"])
          #expect(try bench.export() == new, "\(call) \(number)")
          #expect(try pending(bench).count == 0)
          #expect(report["pending"].isNull && report["objects"].int == 1000)
          #expect(
            report["read"].int
              == ["imported", "updated", "skipped", "unchanged", "rejected"].reduce(0) {
                $0 + (report[$1].int ?? -1)
              })
          if !wasKilled { break }
          #expect(number < 190, "it never ends by itself")
        }
        #expect(states["pending", default: 0] > 2, "\(call): \(states)")
      }
    }

    /// Objects that no input has are deleted in the last commit.
    @Test("With --delete-missing, which implies it: killed, the old table or the new one")
    func deletesMissing() throws {
      let bench = try filled()
      let bytes = try bench.read("t.sheaf")
      let words =
        words(bench, ["1.csv", "2.csv"], ["--delete-missing", "--durability", "full"])
        + ["--max-deletes", "60%"]
      let new = csv(301...1000, "new")
      var states: [String: Int] = [:]
      for number in stride(from: 1, to: 200, by: Effort.isLong ? 1 : 5) {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        let wasKilled = try kill(bench, "write", number, words)
        let seen = try bench.export()
        #expect(seen == old || seen == new, "\(number)")
        states[
          seen == new ? "new" : try pending(bench).count > 0 ? "pending" : "old", default: 0] += 1
        let report = try bench.report(words + ["--resume"])
        #expect(try bench.export() == new, "\(number)")
        #expect(report["pending"].isNull && report["objects"].int == 700)
        #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
        if !wasKilled { break }
        #expect(number < 190, "it never ends by itself")
      }
      #expect(states["pending", default: 0] > 1, "\(states)")
    }

    @Test("What is pending is told, gone on with after a compaction, dropped, or replaced")
    func whatBecomesOfIt() throws {
      let bench = try interrupted()
      let info = try bench.report(["info", bench.database])
      #expect(info["format"].int == 3 && info["pending"][0]["table"].text == "t")
      #expect(info["pending"][0]["objects"].int == 500)
      #expect(info["pending"][0]["by"].text?.hasPrefix("sheaf import ") == true)
      #expect(
        try bench.run(["info", bench.database]).outputText.contains("Table t is being made anew"))
      let bytes = try bench.read("t.sheaf")
      func again() throws { try Data(bytes).write(to: URL(fileURLWithPath: bench.database)) }
      // While a table is pending no other import into it resumes.
      let refused = try bench.run(words(bench, ["1.csv"], ["--resume"]), status: .usage)
      #expect(
        refused.errorText.contains("--publish end") && refused.errorText.contains("--abandon"))
      // A part of 1.csv would become visible.
      let part = try bench.run(
        words(bench, ["2.csv"], publish + ["--resume"]), status: .dataRefused)
      #expect(part.errorText.contains("1.csv") && part.errorText.contains("without the rest"))
      #expect(part.errorText.contains("what was committed stays"))
      #expect(try bench.export() == old)
      try again()
      // Resuming with fewer, other and more inputs.
      try bench.write("3.csv", csv(2000...2001, "more"))
      try bench.run(words(bench, ["1.csv", "3.csv"], publish + ["--resume"]))
      #expect(
        try bench.export() == csv(1...300, "old") + rows(301...800, "new")
          + rows(2000...2001, "more"))
      try again()
      try bench.run(["compact", bench.database])
      #expect(try bench.export() == old)
      let report = try bench.report(words(bench, ["1.csv", "2.csv"], publish + ["--resume"]))
      #expect(report["read"].int ?? 700 < 700 && report["published"].bool == true)
      #expect(try bench.export() == new)
      try again()
      let replaced = try bench.report(words(bench, ["2.csv"], publish))
      #expect(replaced["notes"][0].text?.contains("is dropped") == true)
      #expect(try bench.export() == csv(1...500, "old") + rows(801...1000, "new"))
      try again()
      // The records of the old 1.csv must not become visible together with those of the new one.
      try bench.write("1.csv", csv(301...302, "other"))
      let anew = try bench.report(words(bench, ["1.csv", "2.csv"], publish + ["--resume"]))
      #expect(anew["notes"][0].text?.contains("has changed") == true)
      #expect(
        try bench.export()
          == csv(1...300, "old") + rows(301...302, "other") + rows(303...500, "old")
          + rows(801...1000, "new"))
      try again()
      let abandoned = try bench.report(["import", "--abandon", "--into", bench.database])
      #expect(abandoned["abandoned"]["objects"].int == 500)
      #expect(try bench.export() == old)
      #expect(try bench.report(["info", bench.database])["format"].int == 1)
      let nothing = try bench.run(["import", "--abandon", "--into", bench.database])
      #expect(nothing.outputText.contains("nothing is pending"))
    }

    /// The import is killed at any write: another writer's changes are not lost, and not applied twice.
    @Test("A table that somebody else has changed is merged by its key")
    func changedMeanwhile() throws {
      let bench = try interrupted()
      try bench.write("4.csv", "id,name\n7,changed\n400,changed\n5000,theirs\n")
      let plain = try bench.report(words(bench, ["4.csv"]))
      #expect(plain["notes"][0].text?.contains("is merged with it by the key") == true)
      try bench.run(["delete", bench.database, "id == 9", "--table", "t"])
      let seen = try bench.export()
      let bytes = try bench.read("t.sheaf")
      let words = words(bench, ["1.csv", "2.csv"], publish + ["--resume", "--durability", "full"])
      var merged: Report?
      for number in stride(from: 1, to: 400, by: Effort.isLong ? 1 : 9) {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        if !(try kill(bench, "write", number, words)) { break }
        let found = try bench.export()
        if found == seen {
          merged = try bench.report(words)["merged"]
        } else {
          // The last commit was made; only what follows it was left.
          try bench.run(words)
        }
        let wanted = new.replacing("name 7 old", with: "changed")
          .replacing("9,name 9 old\n", with: "")
        #expect(
          Set(try bench.export().split(separator: "\n"))
            == Set((wanted + "5000,theirs\n").split(separator: "\n")), "\(number)")
        #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
      }
      #expect(merged?["inserted"].int == 1 && merged?["changed"].int == 1)
      #expect(merged?["deleted"].int == 1 && merged?["both"].int == 1)
    }

    @Test("What cannot be merged is refused with 75, and the table is as they left it")
    func refusedMeanwhile() throws {
      let bench = try interrupted()
      try bench.run(["alter", bench.database, "--table", "t", "--index", "name"])
      let seen = try bench.export()
      let refused = try bench.run(
        words(bench, ["1.csv", "2.csv"], publish + ["--resume"]), status: .busy)
      #expect(refused.errorText.contains("'t' was changed by somebody else"))
      #expect(refused.errorText.contains("its indexes"))
      #expect(try bench.export() == seen)
      #expect(try pending(bench).count == 1)
      try bench.run(words(bench, ["1.csv", "2.csv"], publish))
      #expect(try bench.export() == new)
    }

    @Test("A disk that is full in the middle")
    func fullDisk() throws {
      let bench = try filled()
      let words = words(bench, ["1.csv", "2.csv"], publish + ["--durability", "full"])
      let result = try SheafProcess.run(
        words, environment: ["SHEAF_FAULT": "write:11+:ENOSPC:\(bench.path("calls"))"])
      #expect(result.status == Command.ExitStatus.inputOutput.rawValue, "\(result.errorText)")
      #expect(try bench.export() == old)
      try bench.run(words + ["--resume"])
      #expect(try bench.export() == new)
    }
  #endif

  @Test("A table that is to come is not there before all of it is")
  func newTable() throws {
    let bench = try Workbench()
    try bench.write("1.csv", csv(1...250, "a"))
    try bench.write("2.csv", "id,name\n" + rows(251...300, "b") + "x,y,z\n")
    let refused = try bench.run(words(bench, ["1.csv", "2.csv"], publish), status: .dataRefused)
    #expect(refused.errorText.contains("committed so far: 0 batches, 0 objects"))
    let info = try bench.report(["info", bench.database])
    #expect(info["tables"].count == 0 && info["pending"][0]["objects"].int == 250)
    let report = try bench.report(
      words(bench, ["1.csv", "2.csv"], publish + ["--resume", "--max-rejects", "1"]))
    #expect(report["rejected"].int == 1 && report["objects"].int == 300)
    #expect(try bench.export() == csv(1...250, "a") + rows(251...300, "b"))
    #expect(try bench.report(["info", bench.database])["format"].int == 1)
    // The next night: the inputs are imported again, and nothing is to be done.
    let again = try bench.report(
      words(bench, ["1.csv", "2.csv"], publish + ["--resume", "--max-rejects", "1"]))
    #expect(again["read"].int == 0 && again["published"].bool == false)
    let log = try bench.report(["log", bench.database])["runs"]
    #expect(log.count == 1 && log[0]["status"].text == "complete" && log[0]["read"].int == 301)
  }

  @Test("One step for versions, undo, changes and watchers")
  func oneStep() throws {
    let bench = try filled()
    try bench.run(
      words(
        bench, ["1.csv", "2.csv"],
        publish + ["--keep-versions", "3", "--changes", bench.path("c.jsonl")]))
    #expect(try bench.text("c.jsonl").split(separator: "\n").count == 700)
    let versions = try bench.report(["versions", bench.database])["versions"]
    #expect(versions.count == 2)
    let diff = try bench.run(["diff", bench.database, "--summary"]).outputText
    #expect(diff.contains("500") && diff.contains("200"))
    let kept = versions[0]["version"].int ?? 0
    #expect(try bench.export("--at", "\(kept)") == old)
    let watched = try bench.run(
      ["watch", bench.database, "--since", "\(kept)", "--idle", "0"]
    ).outputText
    #expect(watched.split(separator: "\n").count == 702)
    try bench.run(["undo", bench.database])
    #expect(try bench.export() == old)
    // The undo also took back what the table knew of the files.
    try bench.run(words(bench, ["1.csv", "2.csv"], publish + ["--resume"]))
    #expect(try bench.export() == new)
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  @Test("With --truncate the new table is the inputs alone, and none is left empty by mistake")
  func truncates() throws {
    let bench = try filled()
    try bench.write("none.csv", "id,name\n")
    try bench.run(
      words(bench, ["none.csv"], publish + ["--truncate"]), status: .dataRefused)
    #expect(try bench.export() == old)
    let report = try bench.report(words(bench, ["1.csv", "2.csv"], publish + ["--truncate"]))
    #expect(report["batches"].int == 7 && report["published"].bool == true)
    #expect(try bench.export() == csv(301...1000, "new"))
    try bench.run(words(bench, ["none.csv"], publish + ["--truncate", "--allow-empty"]))
    #expect(try bench.export() == "id,name\n")
  }

  @Test(
    "Tables that are to be as the inputs are published at the end, unless something else is said")
  func isImplied() throws {
    for (more, batches, isPublished, size) in [
      (["--truncate"], 1, true, "10000"),
      (["--truncate", "--publish", "batches"], 1, false, "all"),
      (["--truncate", "--batch-size", "100"], 5, false, "100"),
      (["--truncate", "--batch-size", "100", "--publish", "end"], 5, true, "100"),
      (["--delete-missing", "--max-deletes", "60%"], 1, true, "10000"),
      (["--delete-missing", "--max-deletes", "60%", "--batch-size", "100"], 5, true, "100"),
      (["--delete-missing", "--max-deletes", "60%", "--publish", "batches"], 1, false, "all"),
    ] {
      let bench = try filled()
      let report = try bench.report(
        [
          "import", bench.path("1.csv"), "--into", bench.database, "--table", "t", "--key", "id",
          "--on-conflict", "update",
        ] + more)
      #expect(report["batches"].int == batches, "\(more)")
      #expect(report["published"].bool == isPublished, "\(more)")
      #expect(report["batchSize"].text ?? "\(report["batchSize"].int ?? 0)" == size, "\(more)")
      #expect(report["objects"].int == 500)
      #expect(try bench.export() == csv(301...800, "new"), "\(more)")
      // The limits hold, and a refused import stays invisible.
      let refused = try bench.run(
        words(bench, ["2.csv"], ["--delete-missing"]), status: .dataRefused)
      #expect(refused.errorText.contains("--max-deletes"))
      #expect(try bench.export() == csv(301...800, "new"), "\(more)")
    }
  }

  @Test("Options that contradict --publish or --abandon are refused")
  func whatMakesNoSense() throws {
    let bench = try filled()
    for more in [["1.csv"], ["--truncate"], ["--resume"]] {
      try bench.run(["import", "--abandon", "--into", bench.database] + more, status: .usage)
    }
    try bench.run(["import", "--into", bench.database], status: .usage)
    try bench.run(
      ["import", bench.path("1.csv"), "--into", "postgresql://x/y"] + publish, status: .usage)
    // A dry run writes nothing, not even a pending table.
    let bytes = try bench.read("t.sheaf")
    try bench.run(words(bench, ["1.csv"], publish + ["--dry-run"]))
    #expect(try bench.read("t.sheaf") == bytes)
  }
}
