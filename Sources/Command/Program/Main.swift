import Base
import Engine

@main
enum Main {
  static func main() {
    System.openStandardDescriptors()
    System.ignoreClosedPipes()
    System.ignoreFileSizeLimit()
    System.keepEndingsOfChildren()
    // Swift's runtime prints backtraces for faults of the program. A bus error is a fault of the disk or the
    // file.
    _ = BusErrors.report(replaces: true)
    let status = CommandRunner.run(GivenWords.all)
    System.exit(status.rawValue)
  }
}
