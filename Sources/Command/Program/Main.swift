import Base
import Engine

@main
enum Main {
  static func main() {
    System.openStandardDescriptors()
    System.ignoreClosedPipes()
    System.ignoreFileSizeLimit()
    System.keepEndingsOfChildren()
    // Replaces a handler of Swift's runtime, which would print a backtrace as for a fault of the program: a
    // bus error is a fault of the disk or the file.
    _ = BusErrors.report(replaces: true)
    let status = CommandRunner.run(GivenWords.all)
    System.exit(status.rawValue)
  }
}
