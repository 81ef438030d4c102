import Base
import TestSupport
import Testing

@testable import Command

/// `scripts/nights` runs a job's nights with kills, versions, backups and the rest, and compares them
/// with a dictionary.
@Suite struct NightsTests {
  @Test("Random nights of a job give what a dictionary gives")
  func nights() throws {
    let folder = TemporaryFolder()
    let seconds = Effort.isLong ? "1800" : Effort.isShort ? "4" : "15"
    guard
      let result = try Tools.run(
        "python3",
        [
          Repository.path("scripts/nights"), "--seconds", seconds, "--sheaf",
          SheafProcess.program(), "--in", folder.path("."),
        ])
    else { return }
    #expect(result.status == 0, "\(result.outputText) \(result.errorText)")
    #expect(result.outputText.contains(" commands, "))
  }
}
