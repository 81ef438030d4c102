import Base

// The only type of Base that users see. Without this line, a program with `MemberImportVisibility` could not
// read the members of an error.
@_exported import struct Base.SystemError

/// A request that the engine refuses or that fails. `description` says what, where, and what to do.
///
/// Thread rule: a plain value, `Sendable`.
public enum EngineError: Error, Sendable, Equatable {
  /// The operating system reported an error (no space, no permission, an unreadable disk).
  case system(SystemError)
  /// The file exists and is not a Sheaf database.
  case notADatabase(path: String, reason: String)
  /// A later version of Sheaf wrote the file.
  case newerFormat(path: String, format: UInt32)
  /// Bytes of the file do not match their checksum, or contradict each other.
  case damaged(path: String, where: String, reason: String)
  /// There is no file at the path.
  case missing(path: String)
  /// Something that is not Sheaf's has the name of the database's lock file or temporary file. It was not
  /// changed.
  case obstructed(path: String, reason: String)
  /// A backup is not of this database, or a file is newer than its replacement would be. Nothing was changed.
  case otherDatabase(path: String, reason: String)
  /// Another process or handle uses the file in a way that excludes this request.
  case busy(path: String, reason: String)
  /// The path no longer names the open file: it was removed, moved or replaced from outside. Nothing more is
  /// committed; `reason` says where the committed data is.
  case displaced(path: String, reason: String)
  /// A write or flush of a commit failed, or further writing would be unsafe for another reason. `cause` has
  /// the reason and the versions that are known to be on the disk; opening the file again shows the rest.
  case poisoned(path: String, cause: String)
  /// The database has been closed.
  case closed(path: String)
  /// A write through a database that was opened for reading only.
  case readOnly(path: String)
  /// A transaction was begun on a thread that is already inside one.
  case nestedTransaction(path: String)
  /// An asynchronous write was cancelled before it began, or a compaction or copy by its `shouldStop`.
  case cancelled
  /// A connection was used inside its own read or write, and would wait for itself.
  case nestedConnection(path: String)
  /// A session thread was given work while it waits for the thread that gives the work.
  case nestedPerform(path: String)
  /// A commit would have kept more versions than `Database.Options.maximumActiveVersions` alive.
  ///
  /// - `active`: the number of versions that there would be, including the new one.
  /// - `oldest`: the holder of the oldest: a process, and the version's number.
  case tooManyVersions(path: String, active: Int, limit: Int, oldest: VersionHolder)
  /// A transaction was used after it had ended.
  case transactionEnded
  /// An operation of the transaction failed for another reason than a refused value or name. It is unknown
  /// how much of it was done, so the transaction can only be rolled back.
  case transactionFailed(cause: String)
  /// A session, or an object from it, was used on another thread or queue than its own.
  case wrongThread(what: String)
  /// A session cannot do this inside a write transaction.
  case insideTransaction(operation: String)
  /// A change, or the end of a transaction, outside a transaction.
  case noTransaction(operation: String)
  /// The object was deleted, or was added by a transaction that was rolled back; or the table of the results
  /// was deleted.
  case invalidated(what: String)
  /// No thread or queue can deliver the notifications.
  case cannotObserve(reason: String)
  /// A `ThreadSafeReference` was resolved a second time.
  case referenceResolved
  /// An object, token, reference or snapshot belongs to another session or database.
  case foreign(what: String, expected: String)
  /// The database has no table of that name; `known` lists its tables.
  case noSuchTable(name: String, known: [String])
  /// The database has no version of that number, tag or time, or no longer keeps it. `newest` is the newest
  /// version; `kept` are the others.
  case noSuchVersion(name: String, newest: UInt64, kept: [UInt64])
  /// Restoring a kept version would undo more than was requested: `changes` lists the later changes.
  case otherChanges(path: String, since: UInt64, changes: [String])
  /// The tables are the same in all kept versions.
  case unchanged(path: String)
  /// A table of that name exists already.
  case tableExists(name: String)
  /// The table has no column of that name; `known` lists its columns.
  case noSuchColumn(table: String, column: String, known: [String])
  /// The table has no object with that key.
  case noSuchObject(table: String, key: Int64)
  /// The schema is invalid: a name, a type, a default, or the existing objects do not allow it.
  case invalidSchema(table: String, reason: String)
  /// A value does not fit its column.
  case invalidValue(table: String, column: String, value: String, expected: String)
  /// Another object of the table has the same primary key.
  case duplicateKey(table: String, column: String, value: String)
  /// A column cannot be the primary key because of the values of its objects.
  case invalidKey(table: String, column: String, reason: String)
  /// The file's tables differ from the declared ones.
  case schemaMismatch(
    path: String, fileVersion: UInt64, declaredVersion: UInt64, differences: [String])
  /// The schema's version in the file is later than the declared one.
  case newerSchema(path: String, fileVersion: UInt64, declaredVersion: UInt64)
  /// No column can hold a property of a Swift type, or the column's value does not fit it.
  case invalidProperty(type: String, property: String, reason: String)
  /// An object, a cluster or a file would exceed a limit.
  case tooLarge(what: String, limit: String)
  /// An argument is invalid, for the reason in the text.
  case invalidArgument(String)
}

/// A process whose snapshots hold a version of a database.
///
/// Thread rule: a plain value, `Sendable`.
public struct VersionHolder: Sendable, Hashable {
  /// The process identifier.
  public let process: Int32
  /// The number of the version.
  public let version: UInt64

  /// - Parameters:
  ///   - process: the process identifier.
  ///   - version: the number of the version.
  public init(process: Int32, version: UInt64) {
    self.process = process
    self.version = version
  }
}

extension EngineError: CustomStringConvertible {
  /// The path leads to neither a file nor a folder: opening it could wait forever.
  package static func isNoFile(_ path: String) -> EngineError {
    .notADatabase(path: path, reason: "it is a pipe or a device, no file")
  }

  /// One line for people: what, where and what to do.
  public var description: String {
    switch self {
    case .system(let error):
      if error.isNoSpace {
        return "\(error) (\(error.spaceAdvice) and go on)"
      }
      return error.isExisting ? "\(error) (it was left as it is; choose another path)" : "\(error)"
    case .notADatabase(let path, let reason):
      return "\(path): not a Sheaf database (\(reason)); it was left as it is"
    case .newerFormat(let path, let format):
      return
        "\(path): file format \(format) is newer than this Sheaf reads (1 to 12); use a newer Sheaf"
    case .damaged(let path, let place, let reason):
      return "\(path): damaged at \(place): \(reason); run 'sheaf check' and restore a copy"
    case .missing(let path):
      return "\(path): there is no such file"
    case .obstructed(let path, let reason):
      return "\(path): \(reason)"
    case .otherDatabase(let path, let reason):
      return "\(path): \(reason); it was left as it is"
    case .busy(let path, let reason):
      return "\(path): in use: \(reason)"
    case .poisoned(let path, let cause):
      return
        "\(path): \(cause); nothing more is committed through this handle: close it, look after the "
        + "disk, and open the file again"
    case .displaced(let path, let reason):
      return "\(path): \(reason)"
    case .closed(let path):
      return "\(path): the database has been closed"
    case .readOnly(let path):
      return "\(path): opened for reading only; open it for writing to change it"
    case .nestedTransaction(let path):
      return "\(path): this thread is inside a write transaction already; pass that transaction "
        + "on instead of beginning another"
    case .cancelled:
      return "it was cancelled as was asked for; nothing was changed"
    case .nestedConnection(let path):
      return "\(path): this thread is inside a read or write of this connection already; use the "
        + "snapshot or transaction it was given, or an asynchronous one, which comes after it"
    case .nestedPerform(let path):
      return
        "\(path): this session thread or queue waits for the caller, so that each would wait for the other; "
        + "use async, or do it where perform was called first"
    case .tooManyVersions(let path, let active, let limit, let oldest):
      return "\(path): the commit would make \(active) versions alive (at most \(limit)); nothing "
        + "was changed. The oldest, version \(oldest.version), is held by process \(oldest.process): "
        + "release its snapshot and write again"
    case .transactionEnded:
      return "the transaction has been committed or rolled back; begin a new one"
    case .transactionFailed(let cause):
      return
        "something in this transaction has failed (\(cause)), so that nothing of it can be kept; roll "
        + "it back and begin a new one"
    case .wrongThread(let what):
      return "\(what) belongs to the thread or queue that it was made on, and this is another; "
        + "take a ThreadSafeReference or a frozen copy across, or ask that thread to do the work"
    case .insideTransaction(let operation):
      return "\(operation) is not possible inside a write transaction; commit or cancel it first"
    case .noTransaction(let operation):
      return "\(operation) needs a write transaction: use write { } or beginWrite()"
    case .invalidated(let what):
      return "\(what) is not valid any more; look at isInvalidated before using what may be gone"
    case .cannotObserve(let reason):
      return
        "\(reason); observe on a SessionThread, a session of a queue or of the main thread, or "
        + "with observe(on:) on a queue"
    case .referenceResolved:
      return "the reference has been resolved already; make a new one for every use"
    case .foreign(let what, let expected):
      return "\(what) of another \(expected) was given; use one of this \(expected)"
    case .noSuchTable(let name, let known):
      return "there is no table '\(name)'; " + Self.list("tables", known)
    case .noSuchVersion(let name, let newest, let kept):
      let all = kept.suffix(20).map { "\($0)" }.joined(separator: ", ")
      return "version '\(name)' is not kept; the newest is \(newest)"
        + (kept.isEmpty
          ? ", and no other is kept" : ", and kept are \(kept.count > 20 ? "…, " : "")\(all)")
    case .otherChanges(let path, let since, let changes):
      return
        "\(path): since version \(since) \(changes.joined(separator: "; ")); nothing was undone: name the "
        + "table that is to go back, or ask for all of them"
    case .unchanged(let path):
      return "\(path): nothing has changed since a version that is kept; there is nothing to undo"
    case .tableExists(let name):
      return "there is a table '\(name)' already"
    case .noSuchColumn(let table, let column, let known):
      return "table '\(table)' has no column '\(column)'; " + Self.list("columns", known)
    case .noSuchObject(let table, let key):
      return "table '\(table)' has no object with key \(key)"
    case .invalidSchema(let table, let reason):
      return "table '\(table)': \(reason)"
    case .invalidValue(let table, let column, let value, let expected):
      return "table '\(table)', column '\(column)': \(value) is not \(expected)"
    case .duplicateKey(let table, let column, let value):
      return "table '\(table)' has an object with the key '\(value)' in column '\(column)' "
        + "already; update that one, or give the new one another key"
    case .invalidKey(let table, let column, let reason):
      return "table '\(table)': column '\(column)' cannot be the key: \(reason)"
    case .schemaMismatch(let path, let fileVersion, let declaredVersion, let differences):
      let advice =
        fileVersion == declaredVersion
        ? "raise the version of the schema, \(declaredVersion), and give a migration"
        : "the file has version \(fileVersion) of the schema, \(declaredVersion) is declared: "
          + "let the migration make them the same"
      return "\(path): the tables are not those declared: "
        + "\(differences.joined(separator: "; ")); \(advice); the file was left as it is"
    case .newerSchema(let path, let fileVersion, let declaredVersion):
      return "\(path): the file has version \(fileVersion) of the schema, and this program knows "
        + "version \(declaredVersion); use a newer program"
    case .invalidProperty(let type, let property, let reason):
      return property.isEmpty
        ? "\(type): \(reason)" : "property '\(property)' of \(type): \(reason)"
    case .tooLarge(let what, let limit):
      return "\(what) is too large (at most \(limit))"
    case .invalidArgument(let reason):
      return reason
    }
  }

  private static func list(_ what: String, _ names: [String]) -> String {
    if names.isEmpty { return "there are no \(what)" }
    let shown = names.prefix(20).map { String($0.prefix(200)) }.joined(separator: ", ")
    return "its \(what): \(shown)\(names.count > 20 ? ", …" : "")"
  }
}
