import Base

extension Database {
  /// Opens a database file, or creates it if `options.access` allows that.
  ///
  /// While the database is open, a small lock file, `PATH-lock`, exists beside it; the last handle to close
  /// removes it.
  ///
  /// While a compaction has exclusive use of the file, or another process is opening it, `open` waits for at
  /// most `options.waiting`.
  ///
  /// - Throws: `EngineError.missing`, `.notADatabase`, `.newerFormat`, `.damaged` (which names the slot or
  ///   block; the file is not changed), `.busy` after too long a wait, `.cancelled` when the `shouldStop` of
  ///   `options.waiting` has returned true, `.system`, `.invalidArgument` for a limit of no versions; with
  ///   `options.schema` also `.schemaMismatch`, `.newerSchema`, `.invalidSchema`, and the errors of the
  ///   migration.
  public static func open(_ given: String, options: Options = Options()) throws -> Database {
    try translatingErrors(given) { try System.checkPath(given) }
    if let limit = options.maximumActiveVersions, limit < 1 {
      throw EngineError.invalidArgument(
        "maximumActiveVersions is \(limit): it must be 1 or more, or nil for no limit")
    }
    // All links are followed, so that every path to the file leads to the same lock file and temporary.
    let path = try translatingErrors(given) { try System.resolved(given) }
    return try translatingErrors(path) {
      do {
        let status = try System.status(path: path)
        if status.isDirectory { throw SystemError.isADirectory(path) }
        if !status.isRegular { throw EngineError.isNoFile(path) }
      } catch let error as SystemError where error.isMissing {
        if options.access != .create { throw EngineError.missing(path: path) }
      }
      var storage: FileStorage?
      var recovered: Recovery?
      var locks: FileLocks?
      let coordination = try joined(path, options) { peers, visible, lockFile in
        let alone = peers.isAlone
        let (opened, own) = try file(path, options, peers, lockFile)
        storage = opened
        locks = own
        do {
          // A killed compaction leaves its copy. While other handles have the file open, the copy may belong
          // to one of them.
          if alone, options.access != .readOnly { try removeTemporary(path) }
          // A writer at another lock file may use the file, even when this lock file has no other handle.
          let found = try recover(opened, options: options, alone: alone && !own.locksVersions)
          recovered = found
          if alone { visible.store(found.record) }
        } catch {
          try? own.leave()
          throw error
        }
        return opened.identity
      }
      guard let storage, let recovered else { throw EngineError.missing(path: path) }
      coordination.attend(with: locks)
      let database = try Database(
        path: path, options: options, coordination: coordination, storage: storage, locks: locks,
        recovered: recovered)
      // `open` waits for another handle's transaction no longer than for a compaction.
      database.turnWaiting = options.waiting
      defer { database.turnWaiting = nil }
      try database.adoptSchema()
      if let ask = options.shouldCompact, options.access != .readOnly {
        let use = try database.fileUse()
        if ask(use.total, use.needed) { database.compactionAtOpen = try database.compact() }
      }
      return database
    }
  }

  /// Who has the database open.
  private enum Peers {
    /// Nobody, and nobody can open it before this handle has.
    case none
    /// Others may, without this handle knowing of them.
    case unknown
    /// Others have this file open.
    case file(FileIdentity)

    var isAlone: Bool { if case .none = self { true } else { false } }
  }

  /// Opens or creates the file, and takes its locks.
  ///
  /// - Throws: `CoordinationError.replaced` when others have another file open; it is not created then.
  private static func file(
    _ path: String, _ options: Options, _ peers: Peers, _ lockFile: FileIdentity?
  ) throws -> (FileStorage, FileLocks) {
    while true {
      let opened =
        if case .file(let identity) = peers {
          try file(identity, path, options)
        } else {
          try FileStorage(path: path, mode: options.systemMode)
        }
      // Before any write, since a process with another lock file may have the file open.
      let locks = try FileLocks(opened, lockFile: lockFile)
      // An import that fails removes the empty file it has created, unless there are locks on it.
      if try opened.length() > 0 || opened.hasName() { return (opened, locks) }
      try locks.leave()
    }
  }

  /// Opens the file that others have open. It is there, or was removed: none is created.
  private static func file(
    _ identity: FileIdentity, _ path: String, _ options: Options
  ) throws -> FileStorage {
    let replaced = CoordinationError.replaced(lockPath(path))
    let mode = options.access == .create ? .readWrite : options.systemMode
    let opened: FileStorage
    do throws(SystemError) {
      opened = try FileStorage(path: path, mode: mode)
    } catch {
      if error.isMissing, options.access == .create { throw replaced }
      throw error
    }
    guard opened.identity == identity else { throw replaced }
    return opened
  }

  /// The path of the lock file, through which processes find each other.
  static func lockPath(_ path: String) -> String { CompanionFile.lockPath(path) }

  /// Removes the leftover of a killed compaction, and nothing else of that name.
  ///
  /// - Returns: false when something else has the name.
  @discardableResult
  static func removeTemporary(_ path: String) throws(SystemError) -> Bool {
    try CompanionFile.remove(temporaryPath(path), .temporary, emptyUpTo: Layout.pageBytes)
  }

  /// Opens a database on the caller's storage, which no other process shares.
  package static func open(storage: any Storage, options: Options = Options()) throws -> Database {
    try translatingErrors(storage.path) {
      let coordination = try Coordination(privateFor: storage.path)
      let recovered = try recover(storage, options: options, alone: true)
      coordination.visible.store(recovered.record)
      let database = try Database(
        path: storage.path, options: options, coordination: coordination, storage: storage,
        recovered: recovered)
      try database.adoptSchema()
      return database
    }
  }

  /// Joins the handles that have the file open. A reader does not join if it may not write in the folder or
  /// the disk is full: writers see such a reader by its locks on the file itself (`FileLocks`).
  private static func joined(
    _ path: String, _ options: Options,
    _ open: (Peers, VersionCell, FileIdentity?) throws -> FileIdentity
  ) throws -> Coordination {
    do {
      return try Coordination(
        path: lockPath(path), database: path, waiting: options.waiting
      ) { others, visible, lockFile in
        try open(others.map { .file($0) } ?? .none, visible, lockFile)
      }
    } catch let error as SystemError where error.isMissing && error.path == lockPath(path) {
      // The folder is missing. The error names the database, since the user does not know the lock file.
      throw SystemError(operation: error.operation, path: path, code: error.code)
    } catch let error as SystemError
      where options.access == .readOnly && (error.isReadOnly || error.isNoSpace)
      && error.path == lockPath(path)
    {
      let coordination = try Coordination(privateFor: lockPath(path))
      // Not alone: a process that can write in the folder may join at any time.
      _ = try open(.unknown, coordination.visible, nil)
      return coordination
    }
  }

  private static func recover(_ storage: any Storage, options: Options, alone: Bool) throws
    -> Recovery
  {
    if alone || options.access == .readOnly,
      try Recovery.isUnborn(storage, catalogue: Catalogue().encode())
    {
      guard options.access == .create else {
        throw EngineError.notADatabase(path: storage.path, reason: "it is empty")
      }
      return try create(storage)
    }
    return try alone ? Recovery.run(storage) : Recovery.runAmongWriters(storage)
  }

  /// Writes version 1 with an empty catalogue: first a mark, then the root block, then the first slot in
  /// place of the mark; each is flushed.
  private static func create(_ storage: any Storage) throws -> Recovery {
    let catalogue = Catalogue().encode()
    let end = Layout.firstBlockOffset + Layout.pageBytes
    // After a power cut, unflushed bytes may be anything. The mark says that none of them are user data.
    let mark = CommitSlot.creationPage
    try storage.resize(to: mark.count)
    try mark.withUnsafeBytes { try storage.write($0, at: 0) }
    try storage.flush()
    try storage.resize(to: end)
    try Self.erase(storage, Layout.pageBytes..<Layout.firstBlockOffset)
    try catalogue.withUnsafeBytes { try storage.write($0, at: Layout.firstBlockOffset) }
    try storage.flush()
    let root = BlockReference(
      offset: UInt64(Layout.firstBlockOffset), length: UInt32(catalogue.count),
      checksum: Checksum.of(catalogue))
    let record = VersionRecord(version: 1, root: root, end: UInt64(end))
    let identity = DatabaseIdentity.random()
    let page = CommitSlot(record: record, identity: identity).page()
    try page.withUnsafeBytes { try storage.write($0, at: 0) }
    try storage.flush()
    try storage.flushName()
    return Recovery(record: record, slot: 0, identity: identity, fallback: nil)
  }
}

extension Database {
  /// Erases the leftovers of an interrupted creation.
  private static func erase(_ storage: any Storage, _ range: Range<Int>) throws(SystemError) {
    let zeros = [UInt8](repeating: 0, count: range.count)
    let failure = zeros.withUnsafeBytes { bytes -> SystemError? in
      do throws(SystemError) {
        try storage.write(bytes, at: range.lowerBound)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }
}

extension Database.Options {
  var systemMode: System.OpenMode {
    switch access {
    case .create: .readWriteCreate
    case .existing: .readWrite
    case .readOnly: .readOnly
    }
  }
}
