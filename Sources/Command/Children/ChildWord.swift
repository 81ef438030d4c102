/// The agreement between this program and a child that it starts of itself: see `ChildProgram`.
enum ChildWord {
  /// The first of the child's words; no command that a person uses.
  static let first = "tune-run"

  /// The numbers that a child reports, and the names it uses for them.
  enum Fact: String, CaseIterable {
    case records, rejected, transactions, bytesWritten, fileBytes, peakMemory
  }
}
