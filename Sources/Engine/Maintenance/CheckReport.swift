/// What `check` found out about a file.
public struct CheckReport: Sendable {
  /// The version that was checked.
  public internal(set) var version: UInt64
  /// Every problem, each with its place. Empty when the file is sound.
  public internal(set) var problems: [String] = []
  public internal(set) var tables = 0
  public internal(set) var objects = 0
  public internal(set) var clusters = 0
  public internal(set) var blocks = 0

  public var isSound: Bool { problems.isEmpty }
}
