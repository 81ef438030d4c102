import Base
import Engine

/// Whether colour and redrawn lines may be used: only on a terminal, never with `NO_COLOR` set to
/// something or with `TERM=dumb`.
struct TerminalPolicy: Sendable, Equatable {
  let isTerminal: Bool
  let isRich: Bool
  /// True when block characters may be drawn: anywhere but on a dumb terminal.
  let allowsBlocks: Bool

  init(isTerminal: Bool, noColor: String?, term: String?) {
    self.isTerminal = isTerminal
    self.isRich = isTerminal && (noColor ?? "").isEmpty && term != "dumb"
    self.allowsBlocks = !(isTerminal && term == "dumb")
  }

  private init(descriptor: Int32) {
    self.init(
      isTerminal: System.isTerminal(descriptor), noColor: System.environment("NO_COLOR"),
      term: System.environment("TERM"))
  }

  static var standardOutput: TerminalPolicy { TerminalPolicy(descriptor: 1) }
  static var standardError: TerminalPolicy { TerminalPolicy(descriptor: 2) }
}
