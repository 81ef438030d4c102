/// What the program calls itself.
enum Version {
  static let program = "sheaf"
  static let number = "0.1.0"
  static let line = "\(program) \(number)\n"
}
