import Base
import Engine

/// How `sheaf` ends: the numbers scripts and scheduled jobs rely on (those of BSD's `sysexits.h`,
/// and 128 + the signal's number).
enum ExitStatus: Int32, Sendable, CaseIterable {
  case done = 0
  /// Wrong usage of the command line.
  case usage = 64
  /// The data was refused: too many rejects, a corrupt database.
  case dataRefused = 65
  /// An input is missing or unreadable.
  case inputMissing = 66
  /// A bug in Sheaf.
  case bug = 70
  /// The output cannot be created.
  case cannotCreate = 73
  /// An input/output error, a full disk included.
  case inputOutput = 74
  /// The database is busy.
  case busy = 75
  /// Ended by SIGHUP, the current batch committed.
  case hungUp = 129
  /// Ended by SIGINT, the current batch committed.
  case interrupted = 130
  /// Ended by SIGTERM, the current batch committed.
  case terminated = 143

  /// The status after a signal that asks the process to end.
  init(signal number: Int32) {
    switch number {
    case System.terminationSignal: self = .terminated
    case System.hangupSignal: self = .hungUp
    default: self = .interrupted
    }
  }

  /// For the manual, without a full stop.
  var meaning: String {
    switch self {
    case .done: "Done. Also when the reader of standard output has gone away (sheaf ... | head)"
    case .usage: "Wrong usage of the command line; nothing was changed"
    case .dataRefused:
      "The data was refused: too many rejects, an input that cannot be used, a corrupt database"
    case .inputMissing: "An input or the database is missing or unreadable"
    case .bug: "A bug in sheaf"
    case .cannotCreate: "The output cannot be created"
    case .inputOutput: "An input/output error, a full disk included; what was committed stays"
    case .busy: "The database is busy: another process has it; try again later"
    case .hungUp: "Ended by SIGHUP, because its terminal went away, in the same way as by SIGINT"
    case .interrupted:
      "Ended by SIGINT. An import finishes and commits its batch and reports how to go on; a "
        + "compaction leaves the file as it was; a second signal, a second later or more, stops at once"
    case .terminated: "Ended by SIGTERM, in the same way"
    }
  }
}
