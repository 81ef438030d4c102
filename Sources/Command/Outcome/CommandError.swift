import Engine
import Importer

/// The reason for which a command ended early, printed after `sheaf COMMAND: `, and the exit status.
///
/// The message is one line that names the problem, the place, and the remedy.
struct CommandError: Error, Sendable, Equatable, CustomStringConvertible {
  let status: ExitStatus
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  var description: String { message }

  static func usage(_ message: String) -> CommandError { CommandError(.usage, message) }

  /// The reader of standard output has closed it: the command ends silently, with status 0, as ripgrep does,
  /// because the person who closed the pipe has seen enough.
  static let closedPipe = CommandError(.done, "standard output was closed")
}

// MARK: From the errors of the system

extension CommandError {
  /// An input that cannot be opened or read.
  static func input(_ error: SystemError) -> CommandError {
    CommandError(
      .inputMissing, "\(error); \(error.filesAdvice ?? "check the path and its permissions")")
  }

  /// An output that cannot be created.
  static func creation(_ error: SystemError) -> CommandError {
    error.isNoSpace
      ? transfer(error)
      : CommandError(
        .cannotCreate,
        "\(error); "
          + (error.filesAdvice
            ?? "choose another path, or look after the folder and its permissions"))
  }

  /// An output that would replace a database unasked.
  static func replacesDatabase(_ path: String) -> CommandError {
    CommandError(
      .cannotCreate,
      "\(path) is a Sheaf database; name another file, or have it replaced with --force")
  }

  /// Refuses to write output to the path of a file that belongs to a database.
  static func refuseCompanion(_ path: String) throws(CommandError) {
    let reason: String?
    do {
      reason = try Database.refusal(ofOutput: path)
    } catch {
      throw .creation(error)
    }
    if let reason {
      throw CommandError(
        .cannotCreate, "\(path): nothing is written there: \(reason); choose another path")
    }
  }

  /// A write, read or flush of an open file that failed.
  static func transfer(_ error: SystemError) -> CommandError {
    let remedy = error.isNoSpace ? error.spaceAdvice : error.filesAdvice
    return CommandError(
      .inputOutput, error.description + (remedy.map { "; " + $0 + againAdvice } ?? ""))
  }

  /// What to do when too many files are open; empty for any other error.
  private static func filesAdvice(_ error: EngineError) -> String {
    guard case .system(let error) = error, let advice = error.filesAdvice else { return "" }
    return "; " + advice
  }

  private static let againAdvice = " and run the command again"

  /// The message without its advice, for a failure after which the command must not be run again.
  var messageWithoutAdvice: String {
    guard message.hasSuffix(Self.againAdvice), let advice = message.lastIndex(of: ";") else {
      return message
    }
    return String(message[..<advice])
  }

  /// The report of an error that no command has turned into one of its own.
  init(unexpected error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as SystemError: self = .transfer(error)
    case ImportError.noSuchColumn(let name, let known):
      self = .usage("\(error)" + Suggestion.phrase(for: name, among: known))
    case ImportError.missingColumn(_, let name, let known):
      self.init(.dataRefused, "\(error)" + Suggestion.phrase(for: name, among: known))
    case EngineError.noSuchColumn(_, let name, let known):
      self = .usage("\(error)" + Suggestion.phrase(for: name, among: known))
    case EngineError.noSuchTable(let name, let known):
      self = .usage("\(error)" + Suggestion.phrase(for: name, among: known))
    case let error as EngineError:
      self.init(Self.status(error), "\(error)" + Self.filesAdvice(error))
    case let error as QueryError: self.init(.usage, "\(error)")
    case let error as ImportError: self.init(Self.status(error), "\(error)")
    case let error as ServerError: self.init(Self.status(error), "\(error)")
    default:
      self.init(.bug, "unexpected error: \(error); this is a bug in Sheaf, please report it")
    }
  }

  /// The report of an error in a command that writes a database: failing to open it means failing to create
  /// an output.
  init(writing error: any Error) {
    if case EngineError.system(let system) = error, system.operation == "open" {
      self = .creation(system)
    } else if let system = error as? SystemError, system.operation == "open" {
      self = .creation(system)
    } else {
      self.init(unexpected: error)
    }
  }

  private static func status(_ error: EngineError) -> ExitStatus {
    switch error {
    case .system(let error):
      error.operation == "open" && !error.isNoSpace ? .inputMissing : .inputOutput
    case .missing: .inputMissing
    case .notADatabase, .newerFormat, .damaged, .invalidValue, .tooLarge, .duplicateKey,
      .invalidKey, .schemaMismatch, .newerSchema, .otherChanges, .unchanged:
      .dataRefused
    case .poisoned, .displaced: .inputOutput
    case .obstructed, .otherDatabase: .cannotCreate
    case .busy, .tooManyVersions, .cancelled: .busy
    case .noSuchTable, .noSuchVersion, .noSuchColumn, .tableExists, .invalidSchema,
      .invalidArgument, .readOnly,
      .noSuchObject, .invalidProperty:
      .usage
    case .closed, .nestedTransaction, .nestedConnection, .nestedPerform, .transactionEnded,
      .transactionFailed, .wrongThread, .insideTransaction, .noTransaction, .invalidated,
      .cannotObserve, .referenceResolved, .foreign:
      .bug
    }
  }

  private static func status(_ error: ServerError) -> ExitStatus {
    switch error.kind {
    case .usage: .usage
    case .data: .dataRefused
    case .missing: .inputMissing
    case .inputOutput: .inputOutput
    case .busy: .busy
    case .interrupted: .interrupted
    }
  }

  private static func status(_ error: ImportError) -> ExitStatus {
    switch error {
    case .unreadableInput, .missingProgram: .inputMissing
    case .queryFailed(let error): status(error)
    case .tableFailed(let error): status(error)
    case .nothingCommitted(let error): status(error)
    case .cannotCreate, .changesNotWritten: .cannotCreate
    case .busy: .busy
    case .notTidied(let cause):
      // The status "an input is missing" would be wrong: this file is an output.
      status(cause) == .inputMissing ? .inputOutput : status(cause)
    case .readFailed, .outOfMemory, .notDurable: .inputOutput
    case .recordTooLong, .malformedHeader, .unsupportedEncoding, .tooManyRejects, .emptyInput,
      .damagedArchive, .inputChanged, .unlikeTable, .missingColumn, .unfinished, .otherFormat,
      .emptyReplacement, .tooManyDeletions, .tooFewRecords, .rejectedBeforeDeletion,
      .emptyBeforeDeletion, .laterInputRefused:
      .dataRefused
    case .interrupted: .interrupted
    case .notSeekable, .invalidDialect, .cannotResume, .noSuchColumn, .invalidOption: .usage
    }
  }
}
