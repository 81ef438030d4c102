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
  /// Ended by SIGINT, the current batch committed.
  case interrupted = 130
  /// Ended by SIGTERM, the current batch committed.
  case terminated = 143
}
