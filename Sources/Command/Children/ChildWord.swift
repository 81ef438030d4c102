/// What this program and a child that it starts of itself have to agree about: see `ChildProgram`.
enum ChildWord {
  /// The first of its words, which is no command of a person's.
  static let first = "tune-run"

  /// The numbers that a child tells, by the names that it uses for them.
  enum Fact: String, CaseIterable {
    case records, rejected, transactions, bytesWritten, fileBytes, peakMemory
  }
}
