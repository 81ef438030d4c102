import Testing

/// Where the program of all tests begins.
///
/// The package manager would write such a file itself; then it looks tests of XCTest up in the index of all
/// symbols first, of which there are none here. With this file the tests are also built without an index
/// (`--disable-index-store`), which takes a sixth of the time. Its name is the package manager's.
@main
enum AllTests {
  static func main() async {
    await Testing.__swiftPMEntryPoint() as Never
  }
}
