import Engine

@main
enum Main {
  static func main() {
    System.openStandardDescriptors()
    System.ignoreClosedPipes()
    System.keepEndingsOfChildren()
    Database.reportBusErrors()
    let status = Shell.run(Array(CommandLine.arguments.dropFirst()))
    System.exit(status.rawValue)
  }
}
