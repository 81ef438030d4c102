import Base
import Engine

@main
enum Main {
  static func main() {
    System.openStandardDescriptors()
    System.ignoreClosedPipes()
    System.ignoreFileSizeLimit()
    System.keepEndingsOfChildren()
    // The backtraces of the language's runtime are for faults of the program, which these are not.
    _ = BusErrors.report(replaces: true)
    let status = CommandRunner.run(GivenWords.all)
    System.exit(status.rawValue)
  }
}
