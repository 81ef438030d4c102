import Engine

/// A place in an input.
///
/// - `file`: the path as given, or `standard input`.
/// - `line`, `column`: 1-based; the column counts bytes, which is exact for any encoding.
/// - `byteOffset`: 0-based, from the start of the input, including a byte-order mark.
///
/// Thread rule: a plain value, `Sendable`.
public struct SourcePosition: Sendable, Equatable, CustomStringConvertible {
  /// The path as given, or `standard input`.
  public let file: String
  /// From 1.
  public let line: Int
  /// In bytes, from 1.
  public let column: Int
  /// From the start of the input, from 0.
  public let byteOffset: Int

  /// - Parameters:
  ///   - file: the path, or `standard input`.
  ///   - line: from 1.
  ///   - column: in bytes, from 1.
  ///   - byteOffset: from 0.
  public init(file: String, line: Int, column: Int, byteOffset: Int) {
    self.file = file
    self.line = line
    self.column = column
    self.byteOffset = byteOffset
  }

  /// `file:line:column (byte N)`.
  public var description: String { "\(file):\(line):\(column) (byte \(byteOffset))" }
}

/// Why an import failed. `description` is one line: what, where, and what to do.
///
/// Thread rule: a plain value, `Sendable`.
public enum ImportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The input is missing, a directory, or not readable for this user.
  case unreadableInput(path: String, reason: String)
  /// The input is compressed, and the system has no program to decompress it.
  case missingProgram(path: String, program: String, advice: String)
  /// A compressed input is damaged or truncated, as the decompressing program reports.
  case damagedArchive(path: String, byteOffset: Int, reason: String)
  /// The input is not the one that was imported, so it is unknown which of its records are new.
  case inputChanged(path: String, reason: String)
  /// An output file of the import cannot be created.
  case cannotCreate(path: String, reason: String)
  /// Another import or compaction held the database longer than the wait.
  case busy(database: String, seconds: Double)
  /// The input was opened, but a later read failed.
  case readFailed(path: String, byteOffset: Int, reason: String)
  /// The import has to resume in the middle of an input without positions (a pipe).
  case notSeekable(path: String)
  /// A table as an input could not be read.
  case tableFailed(EngineError)
  /// A query as an input failed.
  case queryFailed(ServerError)
  /// A record is longer than the limit for memory.
  case recordTooLong(position: SourcePosition, limit: Int, insideQuotes: Bool)
  /// The system has no memory for the bytes of a chunk.
  case outOfMemory(bytes: Int, position: SourcePosition)
  /// Delimiter, quote, escape and comment cannot be distinguished from each other or from a record end.
  case invalidDialect(reason: String)
  /// The input is text in an encoding that cannot be read, or is not text.
  case unsupportedEncoding(path: String, reason: String)
  /// The record with the names of the columns is malformed.
  case malformedHeader(position: SourcePosition, reason: String)
  /// More records were rejected than allowed.
  case tooManyRejects(
    count: Int, first: Reject?, path: String, committedBatches: Int, committedObjects: Int)
  /// `truncate` or `deletesMissing` would empty a table that had objects: the inputs have no record for it.
  case emptyReplacement(table: String, database: String)
  /// The inputs lack the keys of more objects than may be deleted.
  case tooManyDeletions(missing: Int, allowed: Int, table: String, objects: Int)
  /// The inputs have fewer records than `minRecords` requires for deleting objects.
  case tooFewRecords(read: Int, wanted: Int, table: String, objects: Int)
  /// Records were rejected, so it is unknown which objects the inputs lack.
  case rejectedBeforeDeletion(count: Int, path: String)
  /// `deletesMissing` with an input, among several, that has no record: what is missing may be what it lacks.
  case emptyBeforeDeletion(path: String, missing: Int)
  /// The input has no record with names for the columns.
  case emptyInput(path: String)
  /// `--resume` with an input or options that do not allow it.
  case cannotResume(path: String, reason: String)
  /// The input's columns are not those of its table.
  case unlikeTable(path: String, table: String, reason: String)
  /// The last record has no line end, which `requiresFinalNewline` demands.
  case unfinished(position: SourcePosition)
  /// The input has a format other than CSV.
  case otherFormat(path: String, format: String, advice: String)
  /// The input lacks a column that is named in the options.
  case noSuchColumn(name: String, known: [String])
  /// The input lacks a column of the table that the options or the table require.
  case missingColumn(path: String, name: String, known: [String])
  /// Options that are invalid, alone or together, as the text says.
  case invalidOption(String)
  /// The import ended with an error, and then its committed batches could not be flushed.
  case notDurable(after: String, cause: String)
  /// Everything was committed and is durable; a later step, such as a compaction, failed.
  case notTidied(cause: EngineError)
  /// Everything was committed and is durable; the file of changes could not be written.
  case changesNotWritten(path: String, cause: String)
  /// The error that ended an import of a single transaction: nothing is committed.
  indirect case nothingCommitted(ImportError)
  /// The options do not fit, and batches of inputs before that was found are committed.
  case laterInputRefused(reason: String)
  /// `shouldStop` returned true while a pipe had nothing to read.
  case interrupted

  /// The error for an input that is a folder.
  static func isDirectory(path: String) -> ImportError {
    .unreadableInput(
      path: path, reason: "it is a directory: name its files, as '\(path)/*.csv' does")
  }

  private static func text(_ seconds: Double) -> String {
    Int(exactly: seconds).map(String.init) ?? "\(seconds)"
  }

  private static let goesOn = "; what was committed stays, --resume goes on from there"

  private static func withoutAdvice(_ text: String) -> String {
    text.hasSuffix(goesOn) ? String(text.dropLast(goesOn.count)) : text
  }

  /// True when other options may be all that it takes: `sheaf` ends with the status of wrong usage.
  var isAboutOptions: Bool {
    switch self {
    case .notSeekable, .invalidDialect, .cannotResume, .noSuchColumn, .invalidOption: true
    default: false
    }
  }

  /// This error for an import of a single transaction.
  var ofOneTransaction: ImportError {
    switch self {
    case .damagedArchive, .unfinished, .readFailed: .nothingCommitted(self)
    default: self
    }
  }

  /// One line for people: what, where and what to do.
  public var description: String {
    switch self {
    case .tooManyRejects(let count, let first, let path, let batches, let objects):
      "\(first.map { "\($0.position): \($0.reason); " } ?? "")"
        + "\(count) record\(count == 1 ? "" : "s") rejected, more than --max-rejects allows; "
        + "committed so far: \(batches) batch\(batches == 1 ? "" : "es"), "
        + "\(objects) object\(objects == 1 ? "" : "s"); the rejected records are in "
        + "\(path): mend the input and start anew, or "
        // A query is not resumed, as it may give other rows each time.
        + (first.map { ServerAddress.isURL($0.position.file) } ?? false
          ? "with a higher --max-rejects" : "go on with --resume and a higher --max-rejects")
    case .emptyReplacement(let table, let database):
      "no record of the input would be in table '\(table)' of \(database), which has objects: "
        + "it is left as it is; check the input, or let the table become empty with --allow-empty"
    case .tooManyDeletions(let missing, let allowed, let table, let objects):
      "\(missing) of the \(objects) objects of table '\(table)' are in no input and would be deleted, and "
        + "\(allowed) may be: nothing was changed; check that the inputs are whole, or allow it with "
        + "--max-deletes \(missing)"
    case .tooFewRecords(let read, let wanted, let table, let objects):
      "the inputs have \(read) records, and --min-records wants \(wanted), where table '\(table)' has "
        + "\(objects) objects: nothing was changed; check that the inputs are whole"
    case .rejectedBeforeDeletion(let count, let path):
      "\(count) record\(count == 1 ? " was" : "s were") rejected, and --delete-missing would delete "
        + "the object\(count == 1 ? "" : "s") that \(count == 1 ? "it" : "they") may be for: nothing was "
        + "changed; the rejected records are in \(path): mend the input"
    case .emptyBeforeDeletion(let path, let missing):
      "\(path) has no record, and --delete-missing would delete \(missing) "
        + "object\(missing == 1 ? "" : "s") that no input has: nothing was changed; leave the input out if "
        + "that is right"
    case .emptyInput(let path):
      "\(path): the input is empty: there is no header and no record; "
        + "check that it is the right file"
    case .cannotResume(let path, let reason):
      "\(path): cannot resume: \(reason)"
    case .noSuchColumn(let name, let known):
      "the input has no column '\(name)'; it has: \(Self.list(known))"
        + (known.count > 20 ? ", ..." : "")
    case .missingColumn(let path, let name, let known):
      "\(path): the input has no column '\(name)', which the table needs; it has: "
        + Self.list(known) + (known.count > 20 ? ", ..." : "")
        + "; get the right file, or name one of its columns so with --rename"
    case .unfinished(let position):
      "\(position): the last record has no line end, so the input may have been cut off; get it again, or "
        + "leave --require-final-newline out" + Self.goesOn
    case .otherFormat(let path, let format, let advice):
      "\(path): the input is no CSV but \(format): \(advice)"
    case .unlikeTable(let path, let table, let reason):
      "\(path): the input does not go with table '\(table)': \(reason)"
    case .invalidOption(let reason): reason
    case .notDurable(let first, let cause):
      "\(first); and then what had been committed could not be made durable: \(cause); "
        + "see what is there with 'sheaf info', and go on with --resume"
    case .notTidied(let cause):
      "everything is committed: do not run the import again; but what follows it failed: \(cause)"
    case .changesNotWritten(let path, let cause):
      "\(path): everything is committed, but what has changed could not be written: \(cause); do not run the "
        + "import again, or only with --resume; sheaf diff prints the same while the version before is kept"
    case .nothingCommitted(let cause):
      Self.withoutAdvice(cause.description) + "; nothing was changed, run the import again then"
    case .laterInputRefused(let reason): "\(Self.withoutAdvice(reason))\(Self.goesOn)"
    case .interrupted: "interrupted before the first record"
    case .missingProgram(let path, let program, let advice):
      "\(path): the input is compressed and needs the program \(program), which is not installed: "
        + advice
    case .damagedArchive(let path, let offset, let reason):
      "\(path): the archive is damaged or cut off behind byte \(offset) of its contents: \(reason); "
        + "get the file again" + Self.goesOn
    case .inputChanged(let path, let reason): "\(path): cannot resume: \(reason)"
    case .cannotCreate(let path, let reason): "\(path): \(reason); name another file"
    case .busy(let database, let seconds):
      "\(database): another import or compaction is using it"
        + (seconds > 0
          ? ", and was for \(Self.text(seconds)) second\(seconds == 1 ? "" : "s")" : "")
        + "; run the command again later, or let it wait longer with --wait"
    case .unreadableInput(let path, let reason):
      "\(path): cannot read the input: \(reason); check the path and its permissions"
    case .readFailed(let path, let offset, let reason):
      "\(path): reading failed at byte \(offset): \(reason)" + Self.goesOn
    case .tableFailed(let error): error.description
    case .queryFailed(let error): error.description
    case .notSeekable(let path):
      "\(path): cannot go on in the middle of a pipe; save the input to a file and import that"
    case .recordTooLong(let position, let limit, let insideQuotes):
      "\(position): the record that starts here is longer than \(limit) bytes; "
        + (insideQuotes
          ? "a quoted field in it seems never to be closed: close it, or choose another --quote"
          : "check the record ends and the --quote of the input")
    case .outOfMemory(let bytes, let position):
      "\(position): no memory for a chunk of \(bytes) bytes; use a smaller --batch-size"
    case .invalidDialect(let reason):
      "\(reason); choose another --delimiter, --quote, --escape or --comment"
    case .unsupportedEncoding(let path, let reason):
      "\(path): the input is not read: \(reason)"
    case .malformedHeader(let position, let reason):
      "\(position): the header cannot be used: \(reason); mend it, give names with --header, "
        + "or name the right --encoding, --delimiter or --quote"
    }
  }

  /// The first names of a list; long ones are cut off.
  private static func list(_ names: [String]) -> String {
    names.prefix(20).map { String($0.prefix(200)) }.joined(separator: ", ")
  }
}
