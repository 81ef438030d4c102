import Engine

@main
enum Main {
  static func main() {
    System.openStandardDescriptors()
    System.ignoreClosedPipes()
    System.ignoreFileSizeLimit()
    System.keepEndingsOfChildren()
    Database.reportBusErrors()
    let status = Shell.run(Array(System.arguments.dropFirst()))
    System.exit(status.rawValue)
  }
}
