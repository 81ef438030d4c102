import Base
import Engine
import Foundation
import Testing

@testable import Command

#if DEBUG
  /// `delete` and `alter`, killed at any write, flush or growth of the file, have done all or nothing;
  /// kept versions stay, and the next run works.
  @Suite struct ChangeKillTests {
    private func filled() throws -> Workbench {
      let bench = try Workbench()
      for night in ["a", "b"] {
        try bench.run(
          [
            "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
            "--on-conflict", "update", "--quiet", "--types", "n:text",
          ],
          input: "id,name,n\n" + (1...300).map { "\($0),name \($0) \(night),\($0 * 7)\n" }.joined())
        try bench.run(["keep", bench.database, "--versions", "5"])
      }
      return bench
    }

    /// What is in every version, with the columns and their types.
    private func contents(_ bench: Workbench) throws -> [String] {
      let list = try bench.report(["versions", bench.database])["versions"]
      var contents: [String] = []
      for index in 1..<list.count {
        let at = "\(list[index]["version"].int ?? 0)"
        let columns = try bench.report(["info", bench.database, "--at", at])["tables"][0]["columns"]
        let types = (0..<columns.count).map { columns[$0]["type"].text ?? "" }.joined(
          separator: " ")
        contents.append(try types + "\n" + bench.export("--at", at))
      }
      return contents
    }

    @Test(
      "A killed delete or alter leaves the old table or the new one",
      arguments: ["write", "flush", "resize"], ["delete", "alter"])
    func kills(call: String, command: String) throws {
      let bench = try filled()
      let words =
        command == "delete"
        ? ["delete", bench.database, "id > 100 and id < 250"]
        : ["alter", bench.database, "--type", "n:int", "--rename", "name:who", "--index", "n"]
      let bytes = try bench.read("t.sheaf")
      let before = try contents(bench)
      try bench.run(words)
      let done = try contents(bench)
      #expect(done.count == before.count + 1 && done.last != before.last)
      var states: Set<Int> = []
      for number in 1... {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        let result = try SheafProcess.run(
          words, environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
        let wasKilled = result.signal == System.killSignal
        #expect(wasKilled || result.status == 0, "\(call) \(number): \(result.errorText)")
        let check = try bench.report(["check", bench.database, "--deep"])
        #expect(check["ok"].bool == true, "\(call) \(number)")
        let after = try contents(bench)
        states.insert(after.count)
        #expect(after == (after.count > before.count ? done : before), "\(call) \(number)")
        if after.count == before.count {
          try bench.run(words)
          #expect(try contents(bench) == done, "\(call) \(number)")
        }
        try bench.run(["undo", bench.database])
        #expect(try contents(bench).last == before.last, "\(call) \(number)")
        if !wasKilled { break }
        #expect(number < 60, "it never ends by itself")
        if number >= 60 { break }
      }
      #expect(states.contains(done.count))
    }
  }
#endif
