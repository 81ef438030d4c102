import Foundation
import Testing

/// Where the program of all tests begins if it is built without an index of symbols
/// (`--disable-index-store`), which takes a sixth of the time.
///
/// The package manager looks tests of XCTest up in that index, of which there are none, and writes a
/// file like this one, unless there is one at `Tests/XCTMain.swift`. Then it takes all tests for
/// XCTest's, until told `--disable-xctest --enable-swift-testing`. That is too much to ask of a
/// person, so it lies there only while `.ci/run` runs, and in the copies of `scripts/mutations`.
@main
enum TestMain {
  static func main() async {
    guard CommandLine.arguments.contains("--testing-library") else {
      let told = "Tests/XCTMain.swift was left by .ci/run: delete it\n"
      FileHandle.standardError.write(Data(told.utf8))
      exit(1)
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
