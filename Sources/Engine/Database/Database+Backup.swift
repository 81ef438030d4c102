import Base

/// The outcome of a backup or of a restoration from one.
///
/// Thread rule: a plain value, `Sendable`.
public struct BackupResult: Sendable, Equatable {
  /// How the copy was brought up to date.
  public enum Decision: String, Sendable {
    /// The whole database was written into a new file.
    case copied
    /// Only the blocks missing in the copy were written.
    case updated
    /// The copy had the version already.
    case unchanged
  }
  /// How the copy was brought up to date.
  public let decision: Decision
  /// The number of the version, which is the same in the database and its copy.
  public let version: UInt64
  /// Bytes written.
  public let bytesCopied: Int
  /// Bytes of blocks that the copy had already, which were neither read nor written.
  public let bytesSkipped: Int
}

extension Database {
  /// Brings a copy of the database up to its newest version. The first time it copies everything, later only
  /// the blocks missing in the copy. The database may be read and written meanwhile.
  ///
  /// The copy is itself a database, with the same versions under the same numbers: the newest, and the kept
  /// ones with their tags. Readers of the copy see its former version until the new one is complete, flushed
  /// and read back; a kill or a power cut at any moment leaves one of the two. Only backups may write to the
  /// copy: one with other changes is refused, since a backup would lose them.
  ///
  /// Thread rule: any thread, outside of transactions.
  ///
  /// - Parameters:
  ///   - destination: the path of the copy. It gets the database's owner and permissions, as far as the user
  ///     may set them.
  ///   - replacing: whether a new copy replaces any existing database that is not open. A file that is not a
  ///     Sheaf database is never replaced.
  ///   - waiting: how long to wait for other writers of the copy.
  ///   - shouldStop: called now and then, on the caller's thread; true ends the backup.
  /// - Complexity: the first time O(bytes in use); later O(changes + nodes of the copy). A compaction changes
  ///   the whole database, a compaction in use the parts that it merges and moves. Memory: some 100 bytes a
  ///   block.
  /// - Throws: `EngineError.otherDatabase` when the existing file is a copy of another database, was changed
  ///   since the last backup, or has a later version; `.system` when it is not a database; `.busy`,
  ///   `.damaged`, `.cancelled`, `.system`. The copy is then unchanged.
  public func backup(
    to destination: String, replacing: Bool = false, waiting: Waiting = Waiting(),
    shouldStop: @escaping () -> Bool = { false }
  ) throws -> BackupResult {
    try translatingErrors(destination) {
      do {
        return try backUp(to: destination, replacing, waiting, shouldStop)
      } catch let error as SystemError where error.isExisting {
        // Another first backup was faster: what its copy lacks is added.
        guard try Database.isDatabase(at: destination) else { throw error }
        return try backUp(to: destination, replacing, waiting, shouldStop)
      }
    }
  }

  private func backUp(
    to destination: String, _ replacing: Bool, _ waiting: Waiting,
    _ shouldStop: @escaping () -> Bool
  ) throws -> BackupResult {
    try System.checkPath(destination)
    let own = try parts.storage as? FileStorage
    let there = try System.statusIfPresent(path: destination)
    if let there, there.identity == own?.identity {
      throw EngineError.invalidArgument("'\(destination)' is the database itself")
    }
    if there != nil, try !Database.isDatabase(at: destination) {
      throw SystemError.isExisting(destination)
    }
    return try withHeldVersions { snapshot in
      let copy = WholeCopy(
        source: try VersionRoots(snapshot.record, snapshot.blocks), blocks: snapshot.blocks,
        shouldStop: shouldStop)
      let identity = try parts.pipeline.identity
      guard there != nil, !replacing else {
        let file = try ReplacementFile(
          for: there == nil ? destination : System.resolved(destination), like: own?.descriptor)
        let bytes = try copy.write(to: FileStorage(file), identity, remembers: true)
        try Self.put(file, replacing: there != nil)
        return BackupResult(
          decision: .copied, version: snapshot.version, bytesCopied: bytes, bytesSkipped: 0)
      }
      var options = Options(access: .existing)
      options.waiting = waiting
      let target = try Database.open(destination, options: options)
      do {
        let result = try target.update(from: copy, identity, waiting)
        try target.close()
        return result
      } catch {
        try? target.close()
        throw error
      }
    }
  }

  /// Replaces a database that is lost or wrong by a copy of it: a new file with the copy's newest version and
  /// the versions that it keeps. The file is flushed and read back before it gets its name.
  ///
  /// Thread rule: any thread; others may read the copy meanwhile.
  ///
  /// - Parameters:
  ///   - copy: the path of a backup, or of any other database.
  ///   - path: the destination. An existing database is replaced if it is the same database and not newer.
  ///   - replacing: whether any existing database is replaced, readable or not. An open database is never
  ///     replaced.
  ///   - waiting: how long to wait for an exclusive user of the copy.
  ///   - shouldStop: called now and then, on the caller's thread; true ends the restoration.
  /// - Complexity: O(bytes in use).
  /// - Throws: `EngineError.otherDatabase` when the existing file is another database, a newer one, or
  ///   unreadable; `.busy` when it is open; `.system` when it is not a database; `.damaged` when the copy is
  ///   damaged. The existing file is then unchanged.
  public static func restore(
    _ copy: String, to path: String, replacing: Bool = false, waiting: Waiting = Waiting(),
    shouldStop: @escaping () -> Bool = { false }
  ) throws -> BackupResult {
    var options = Options(access: .readOnly)
    options.waiting = waiting
    let source = try Database.open(copy, options: options)
    defer { try? source.close() }
    return try translatingErrors(path) {
      try System.checkPath(path)
      let parts = try source.parts
      let there = try System.statusIfPresent(path: path)
      if let there, there.identity == (parts.storage as? FileStorage)?.identity {
        throw EngineError.invalidArgument("'\(path)' is the copy itself")
      }
      return try source.withHeldVersions { snapshot in
        func check() throws {
          // In an empty file there is nothing to lose.
          let now = try System.statusIfPresent(path: path)
          let isEmpty = replacing && now?.isRegular == true && now?.size == 0
          if there != nil, !isEmpty, try !isDatabase(at: path) {
            throw SystemError.isExisting(path)
          }
          if there != nil, !replacing {
            try checkReplaceable(
              path, by: snapshot.record, CopiedBlocks.line(of: snapshot.catalogue),
              parts.pipeline.identity)
          }
        }
        try check()
        let own = parts.storage as? FileStorage
        let present = there == nil ? nil : try FileStorage(path: path, mode: .readOnly)
        let file = try ReplacementFile(
          for: there == nil ? path : System.resolved(path),
          like: (present ?? own)?.descriptor)
        let whole = WholeCopy(
          source: try VersionRoots(snapshot.record, snapshot.blocks), blocks: snapshot.blocks,
          shouldStop: shouldStop)
        let bytes = try whole.write(
          to: FileStorage(file), parts.pipeline.identity, remembers: false)
        try put(file, replacing: there != nil, check)
        return BackupResult(
          decision: .copied, version: snapshot.version, bytesCopied: bytes, bytesSkipped: 0)
      }
    }
  }

  private static func put(
    _ file: ReplacementFile, replacing: Bool, _ check: () throws -> Void = {}
  ) throws {
    guard replacing else { return try file.putInPlace(replacing: false) }
    try whileUnused(file.path) {
      // It may have been written to meanwhile.
      try check()
      try file.putInPlace(replacing: true)
    }
  }

  private static func checkReplaceable(
    _ path: String, by record: VersionRecord, _ line: CopiedBlocks.Line,
    _ identity: DatabaseIdentity
  ) throws {
    let found: Recovery
    let own: CopiedBlocks.Line
    do {
      let storage = try FileStorage(path: path, mode: .readOnly)
      found = try Recovery.runAmongWriters(storage)
      own = try CopiedBlocks.line(
        of: VersionRoots(found.record, BlockReader(storage: storage)).catalogue)
    } catch {
      throw EngineError.otherDatabase(
        path: path, reason: "whether it is newer than the copy cannot be told (\(error))")
    }
    guard found.identity == identity else {
      throw EngineError.otherDatabase(path: path, reason: "it is another database than the copy's")
    }
    guard found.record.version <= record.version else {
      throw EngineError.otherDatabase(
        path: path,
        reason:
          "it has version \(found.record.version), and the copy version \(record.version): what was written "
          + "since would be lost")
    }
    if let parting = own.parting(from: line), found.record.version > parting {
      throw EngineError.otherDatabase(
        path: path,
        reason: "it has gone another way than the copy since version \(parting), and has version "
          + "\(found.record.version): what was written since would be lost")
    }
  }

  /// Calls `body` with the newest version while that version and its kept versions are held.
  func withHeldVersions<Result>(_ body: (Snapshot) throws -> Result) throws -> Result {
    let (snapshot, holds) = try heldVersions()
    return try withExtendedLifetime((snapshot, holds)) { try body(snapshot) }
  }

  /// Makes a version of another file the next version of this copy.
  func update(
    from copy: WholeCopy, _ identity: DatabaseIdentity, _ waiting: Waiting
  ) throws -> BackupResult {
    turnWaiting = waiting
    let record = copy.source.record
    let state = try TransactionState(self)
    var memory: CopiedBlocks
    let written: Int
    do {
      let parts = state.parts
      memory = try remembered(state, copy.source, identity)
      if memory.version == record.version {
        state.abandon()
        return BackupResult(
          decision: .unchanged, version: record.version, bytesCopied: 0,
          bytesSkipped: try fileUse().used)
      }
      let old = try state.history()
      let versions = try ([state.base] + old.kept.map(\.record)).map {
        try VersionRoots($0, parts.blocks)
      }
      let known = try memory.blocks(of: versions, parts.blocks)
      memory = CopiedBlocks(
        memory, version: record.version, root: record.root.checksum,
        line: try CopiedBlocks.line(of: copy.source.catalogue))
      var transfer = BlockTransfer(
        copy.blocks, state.writer, known: known, in: parts.blocks,
        end: UInt64(state.space.pageCount * Layout.pageBytes), shouldStop: copy.shouldStop)
      let (catalogue, history) = try copy.run(
        &transfer, state.writer, parts.blocks, memory: memory, old: old)
      try state.writer.writeOut()
      // Read back from the disk, as far as the system allows, before a slot names the version.
      try parts.storage.flush()
      try transfer.verify(
        try BlockReader(storage: parts.storage), own: CopiedBlocks.table(of: catalogue))
      try state.become(catalogue, history, of: record, end: transfer.end)
      written = state.writer.bytesWritten
    } catch {
      state.abandon()
      throw error
    }
    _ = try state.commit(.full, nil)
    let parts = try parts
    let newest = try VersionRoots(parts.pipeline.visible(), parts.blocks)
    let kept = try newest.history(parts.blocks).kept.map {
      try VersionRoots($0.record, parts.blocks)
    }
    _ = try memory.blocks(of: [newest] + kept, parts.blocks)
    return BackupResult(
      decision: .updated, version: record.version, bytesCopied: written,
      bytesSkipped: max(0, memory.bytes - written))
  }

  /// What the copy stores about the database that it was made from.
  private func remembered(
    _ state: TransactionState, _ source: VersionRoots, _ identity: DatabaseIdentity
  ) throws -> CopiedBlocks {
    let record = source.record
    guard state.parts.pipeline.identity == identity else {
      throw EngineError.otherDatabase(path: path, reason: "it is a copy of another database")
    }
    let base = state.base.version
    guard let memory = try CopiedBlocks(in: hold(state.base, state.parts)) else {
      throw EngineError.otherDatabase(path: path, reason: "it is no backup")
    }
    guard memory.version == base else {
      throw EngineError.otherDatabase(
        path: path,
        reason:
          "it was written to since the last backup: that was of version \(memory.version), and it has "
          + "version \(base)")
    }
    if record.version == base, record.root.checksum != memory.root,
      let origin = try CopiedBlocks.origin(source.catalogue), origin.version == base,
      origin.root == state.base.root.checksum
    {
      // The database was restored from this copy, which has not been written to since.
      return memory
    }
    let line = try CopiedBlocks.line(of: source.catalogue)
    if let parting = memory.line.parting(from: line), base > parting {
      throw EngineError.otherDatabase(
        path: path,
        reason: "it has version \(base), and since version \(parting) they have gone different "
          + "ways: what the copy alone has would be lost")
    }
    guard record.version > base || (record.version == base && record.root.checksum == memory.root)
    else {
      throw EngineError.otherDatabase(
        path: path,
        reason: record.version == base
          ? "its version \(base) says something else than the database's: they have gone different ways"
          : "it has version \(base), and the database version \(record.version)")
    }
    return memory
  }
}
