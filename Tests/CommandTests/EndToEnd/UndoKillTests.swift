import Base
import Engine
import Foundation
import Testing

@testable import Command

#if DEBUG
  /// An undo that is killed at any write, flush or growth of the file has undone all or nothing; kept
  /// versions stay, and the next undo works.
  @Suite struct UndoKillTests {
    private func users(_ suffix: String) -> String {
      "id,name\n" + (1...400).map { "\($0),name \($0) \(suffix)\n" }.joined()
    }

    private func filled() throws -> Workbench {
      let bench = try Workbench()
      for night in ["a", "b", "c"] {
        try bench.run(
          [
            "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
            "--on-conflict", "update", "--quiet", "--keep-versions", "5",
          ], input: users(night))
      }
      return bench
    }

    private func contents(_ bench: Workbench) throws -> [String] {
      let list = try bench.report(["versions", bench.database])["versions"]
      return try (1..<list.count).map {
        try bench.export("--at", "\(list[$0]["version"].int ?? 0)")
      }
    }

    @Test(
      "A killed undo leaves one of the versions whole", arguments: ["write", "flush", "resize"])
    func kills(call: String) throws {
      let bench = try filled()
      let bytes = try bench.read("t.sheaf")
      let before = try contents(bench)
      #expect(before == ["a", "b", "c"].map { users($0) })
      var states: Set<Int> = []
      for number in 1... {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        let result = try SheafProcess.run(
          ["undo", bench.database],
          environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
        let wasKilled = result.signal == System.killSignal
        #expect(wasKilled || result.status == 0, "\(call) \(number): \(result.errorText)")
        // A reader removes the lock file of a killed process.
        let check = try bench.report(["check", bench.database, "--deep"])
        #expect(check["ok"].bool == true, "\(call) \(number)")
        let after = try contents(bench)
        states.insert(after.count)
        let isUndone = after.count == before.count + 1
        #expect(
          after == (isUndone ? before + [before[1]] : before), "\(call) \(number)")
        try bench.run(["undo", bench.database])
        #expect(try bench.export() == (isUndone ? users("c") : users("b")), "\(call) \(number)")
        if !wasKilled { break }
        #expect(number < 60, "it never ends by itself")
        if number >= 60 { break }
      }
      #expect(states.contains(before.count + 1))
    }
  }
#endif
