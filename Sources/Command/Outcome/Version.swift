/// The name and the version of the program.
enum Version {
  static let program = "sheaf"
  static let number = "0.1.0"
  /// The date of the last change to the manual that matters.
  static let date = "2026-11-21"
  static let line = "\(program) \(number)\n"
}
