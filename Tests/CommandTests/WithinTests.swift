import Testing

/// `scripts/within`, by which a test that waits for ever ends the run of all tests, and is told.
@Suite(.enabled(if: Python.isThere)) struct WithinTests {
  private func run(_ seconds: Int, _ script: String) throws -> SheafProcess.Result {
    try SheafProcess.run(
      [Repository.path("scripts/within"), "\(seconds)", "sh", "-c", script],
      program: "/usr/bin/env")
  }

  @Test("The status is the command's own", arguments: [0, 3, 124])
  func status(_ status: Int32) throws {
    let result = try run(60, "echo done; exit \(status)")
    #expect(result.status == status && result.outputText == "done\n", "\(result.errorText)")
    #expect(try run(60, "kill -9 $$").status == 137)
  }

  #if os(Linux)
    @Test("What takes too long is ended, with what has left its session, and all of it is told")
    func tooLong() throws {
      let result = try run(1, "setsid sleep 1001 & sleep 1002")
      #expect(result.status == 124, "\(result.errorText)")
      for told in ["not done after 1 s: sh -c", ": sleep 1001", ": sleep 1002", "threads sleep"] {
        #expect(result.outputText.contains(told), "\(result.outputText)")
      }
      // The pipes are at their end: nobody is left who has them.
    }
  #endif
}
