import Base

extension Database {
  /// Names the file and the place before the process ends because a mapped database cannot be read: a bad
  /// block of the disk, a file that was cut short from outside, a lock file that the disk has no room for.
  /// One line goes to standard error, and the process ends with status 74. Otherwise the system would end it
  /// by SIGBUS without a message.
  ///
  /// For programs without a handler of their own for SIGBUS: an existing one stays, and nothing is done.
  /// Faults elsewhere go to the handler that was there before.
  ///
  /// Thread rule: any thread; once is enough.
  ///
  /// - Returns: false when the program handles the signal itself.
  @discardableResult
  public static func reportBusErrors() -> Bool { BusErrors.report() }

  /// Verifies every block, reference and invariant of the newest version and of those that are kept.
  ///
  /// Reads the whole file; writers go on meanwhile. Problems, also blocks that the disk cannot read, are in
  /// the report, not thrown.
  ///
  /// A deep check also compares all redundant data: every value as scans, lookups and exports read it; the
  /// nulls and bounds of columns, changed rows included; every entry of every index with its object; the map
  /// of free pages with the blocks that were reached; the notes of tables. And it checks the older versions
  /// that anybody holds, and the one that the other commit slot names if its pages are whole.
  ///
  /// Thread rule: any thread.
  ///
  /// - Parameter deep: whether all redundant data is compared.
  /// - Complexity: O(bytes in use): every column of every cluster is decoded. Memory is that of a cluster,
  ///   and some 100 bytes for each block. A deep check decodes every value twice more, looks up every entry
  ///   of every index, keeps 4 bytes for each page, and reads the parts that only older versions have.
  /// - Throws: as `snapshot`; `EngineError.system` when the file cannot be read.
  public func check(deep: Bool = false) throws -> CheckReport {
    let (hold, present) = try holdForLooking()
    return try translatingErrors(path) {
      // A reader of its own, which has not verified any bytes yet: they may have been damaged since.
      let storage = PrereadStorage(present)
      let blocks = try BlockReader(storage: storage)
      // The lock file tells the versions that other processes hold.
      var unanswered = 0
      func heldVersions() throws(SystemError) -> [VersionRecord] {
        do throws(SystemError) {
          return try coordination.heldVersions().map(\.record)
        } catch {
          unanswered += 1
          throw error
        }
      }
      // The version must stay held to the end, not only until its record has been read.
      let (kept, gone) = try holdKept(of: hold.record, blocks)
      let pending = try holdPending(of: hold.record, blocks)
      var report = withExtendedLifetime((hold, kept, pending)) {
        Checker.run(
          hold.record, blocks, except: gone, withPending: pending != nil,
          held: deep ? heldVersions : nil)
      }
      report.unreadable = storage.failureCount + unanswered
      return report
    }
  }

  /// Verifies one version, and nothing else of the file: no other version, no slot, no free page.
  ///
  /// - Parameters:
  ///   - deep: as for the whole file.
  ///   - snapshot: of this database.
  /// - Throws: `EngineError.system` when the file cannot be read.
  public func check(deep: Bool = false, only snapshot: Snapshot) throws -> CheckReport {
    try translatingErrors(path) {
      let storage = PrereadStorage(snapshot.blocks.storage)
      let blocks = try BlockReader(storage: storage)
      var report = withExtendedLifetime(snapshot) {
        Checker.runAlone(snapshot.record, blocks, isDeep: deep)
      }
      report.unreadable = storage.failureCount
      return report
    }
  }

  /// The use of the file's bytes.
  ///
  /// - Complexity: O(tree nodes).
  /// - Throws: as `snapshot`; `EngineError.system`.
  public func fileUse() throws -> FileUse {
    try translatingErrors(path) {
      try withKeptVersions { snapshot, kept in
        let space = try walk(snapshot.record, snapshot.blocks) {
          KeptVersions(records: try kept + coordination.heldVersions().map(\.record))
        }
        return FileUse(
          space, total: try snapshot.blocks.storage.length(), kept: kept.map(\.version))
      }
    }
  }

  /// The use of a table's bytes, column by column.
  ///
  /// - Complexity: O((clusters + changed rows) × columns); values are not read.
  /// - Throws: as `snapshot`; `EngineError.noSuchTable`.
  public func tableUse(_ name: String) throws -> TableUse {
    try TableUse(try snapshotForLooking().table(name))
  }

  /// About how much space `compact` would free: encodes some of the objects as it would.
  ///
  /// Thread rule: any thread; writers and readers go on meanwhile.
  ///
  /// - Parameter samples: the number of places of each table, of about 256 KiB each, that are encoded; at
  ///   least three. A table of up to 4 MiB is measured as a whole.
  /// - Complexity: O(clusters), and the encoding of about samples × 256 KiB and of one compacted cluster for
  ///   each table, on several threads.
  /// - Throws: as `snapshot`; `EngineError.damaged`.
  public func compactionEstimate(samples: Int = 8) throws -> CompactionEstimate {
    try compactionEstimate(ClusterSampler.Limits(places: samples))
  }

  package func compactionEstimate(_ limits: ClusterSampler.Limits) throws -> CompactionEstimate {
    let snapshot = try snapshotForLooking()
    return try withExtendedLifetime(snapshot) {
      try translatingErrors(path) {
        try CompactionEstimate(
          snapshot, total: try snapshot.blocks.storage.length(), limits: limits)
      }
    }
  }

  /// Rewrites the file without its free space, in large clusters: into a temporary file beside it, flushed,
  /// read back, then renamed into place. A crash at any moment leaves the old file or the new one.
  ///
  /// Skipped, with the reason, when another process or handle has the file open, when a snapshot is held,
  /// when the disk has no room, when the copy could not have the file's owner and permissions, or when the
  /// file has other names. Waits for earlier writers.
  ///
  /// - Complexity: O(bytes in use): everything is decoded, encoded, and read back, on as many threads as
  ///   there are processors. The disk needs room for the copy.
  /// - Parameters:
  ///   - keepsVersions: whether kept versions stay. The parts that they share with the newest and with each
  ///     other stay shared, and clusters are not merged then. Without them the file gets as small as it can.
  ///     Pending tables (`Snapshot.pendingTables`) stay in either case, in the same way.
  ///   - shouldStop: asked now and then, on the caller's thread; true ends the compaction.
  /// - Throws: `EngineError.cancelled` when `shouldStop` has returned true; `.obstructed` when something that
  ///   is not Sheaf's has the temporary file's name; `EngineError` when reading or writing fails for other
  ///   reasons. The file is unchanged then, and nothing is left beside it.
  public func compact(
    keepsVersions: Bool = true, shouldStop: @escaping () -> Bool = { false }
  ) throws -> CompactionResult {
    guard options.access != .readOnly else { throw EngineError.readOnly(path: path) }
    return try translatingErrors(path) {
      let nesting = try NestingGuard.enter(coordination.identity, path: path)
      defer { NestingGuard.leave(nesting) }
      let turn = try enterQueue()
      do {
        let parts = try parts
        // Even if the compaction is skipped: pages that another handle has written are not free.
        if try parts.pipeline.beginTransaction(waiting: turn.waiting).isFresh { memory.space = nil }
        let result: CompactionResult
        do {
          result = try compactAlone(parts, keepsVersions, shouldStop)
        } catch {
          try parts.pipeline.endTransaction()
          throw error
        }
        try parts.pipeline.endTransaction()
        queue.leave(turn)
        // A `close` in between has not reported the version either.
        if result.decision == .compacted, let newest = try? newestVersion {
          listeners.tell(of: newest)
        }
        return result
      } catch {
        queue.leave(turn)
        throw error
      }
    }
  }

  private func compactAlone(
    _ parts: FileParts, _ keepsVersions: Bool, _ shouldStop: @escaping () -> Bool
  ) throws -> CompactionResult {
    try parts.pipeline.makeDurable()
    let before = try parts.storage.length()
    func skipped(_ decision: CompactionResult.Decision, _ reason: String) -> CompactionResult {
      CompactionResult(decision: decision, before: before, after: before, reason: reason)
    }
    guard try coordination.becomeAlone() else {
      return skipped(.skippedInUse, "another process or handle has the file open")
    }
    let result: CompactionResult
    do {
      if let held = try coordination.heldVersions().first {
        result = skipped(.skippedInUse, "a snapshot of version \(held.record.version) is held")
      } else {
        result = try compact(parts, before: before, keepsVersions, shouldStop, skipped)
      }
    } catch {
      do {
        try coordination.shareAgain()
      } catch let second {
        // Until this handle is closed, others cannot open the file: it must report the failure.
        parts.pipeline.fail("\(second)")
      }
      throw error
    }
    try coordination.shareAgain()
    return result
  }

  /// Compacts while nobody else uses the file.
  private func compact(
    _ parts: FileParts, before: Int, _ keepsVersions: Bool, _ shouldStop: @escaping () -> Bool,
    _ skipped: (CompactionResult.Decision, String) -> CompactionResult
  ) throws -> CompactionResult {
    let record = parts.pipeline.visible()
    let kept =
      keepsVersions
      ? try VersionRoots(record, parts.blocks).history(parts.blocks).kept.map(\.record) : []
    let space = try SpaceMap.walking(parts.blocks, newest: record, held: kept)
    let use = FileUse(space, total: before, kept: kept.map(\.version))
    let need = use.used + use.kept
    if try System.freeSpace(at: System.directory(of: path)) < need {
      return skipped(.skippedNoSpace, "the copy needs up to \(need) bytes of free disk space")
    }
    if let file = parts.storage as? FileStorage, try file.links() > 1 {
      return skipped(
        .skippedOtherNames,
        "the file has other names (hard links), which would keep what is there now; remove them, or write a "
          + "compact copy")
    }
    do {
      try replace(parts, record, keepsVersions, shouldStop)
    } catch let error as SystemError where error.isMountPoint {
      return skipped(
        .skippedOtherNames,
        "the file is mounted by itself, so that no other can take its place; compact it where it is mounted "
          + "from, or write a compact copy")
    } catch let error as SystemError where error.isNoSpace {
      return skipped(.skippedNoSpace, "\(error)")
    } catch let error as AccessNotKept {
      return skipped(
        .skippedNotOwner,
        "the copy cannot be given the file's owner, group and permissions (\(error.cause)); "
          + "compact it as its owner or as root")
    }
    return CompactionResult(
      decision: .compacted, before: before, after: try self.parts.storage.length())
  }

  private struct AccessNotKept: Error {
    let cause: SystemError
  }

  private static func keepAccess(of file: FileStorage, _ copy: FileStorage) throws {
    do {
      try System.copyAccess(from: file.descriptor, to: copy.descriptor, path: copy.path)
    } catch {
      throw error.isReadOnly ? AccessNotKept(cause: error) : error
    }
  }

  /// The path of the file that a compaction writes.
  static func temporaryPath(_ path: String) -> String { CompanionFile.temporaryPath(path) }

  private func replace(
    _ parts: FileParts, _ record: VersionRecord, _ keepsVersions: Bool,
    _ shouldStop: @escaping () -> Bool
  ) throws {
    let temporary = Self.temporaryPath(path)
    let identity = try Recovery.run(parts.storage).identity
    guard try Self.removeTemporary(path) else {
      throw ObstructionError(path: temporary, what: "is not what a compaction left")
    }
    do {
      // Readable by its owner alone until it has the file's permissions.
      let copy = try FileStorage(path: temporary, mode: .createNew, permissions: 0o600)
      if let file = parts.storage as? FileStorage { try Self.keepAccess(of: file, copy) }
      _ = try Compactor.copy(
        record, parts.blocks, to: copy, identity: identity, isMarked: true,
        keepsVersions: keepsVersions, keepsPending: true, shouldStop: shouldStop)
      // A backup that was moved into place meanwhile must not be overwritten.
      try parts.storage.checkName()
      try System.rename(temporary, to: path)
    } catch {
      try Self.removeTemporary(path)
      throw error
    }
    do {
      try System.flushDirectory(of: path)
      let storage = try FileStorage(path: path, mode: .readWrite)
      let recovered = try Recovery.run(storage)
      let locks = try parts.locks?.moved(to: storage)
      let fresh = try makeParts(storage, locks, recovered)
      // Replaces the temporary's mark.
      try fresh.pipeline.mirrorSlot()
      parts.pipeline.stop()
      memory.space = nil
      install(fresh)
      coordination.adopt(storage.identity, locks, first: recovered.record.version)
      coordination.visible.store(recovered.record)
    } catch {
      // This handle's file no longer has the name: nothing may be written to it.
      parts.pipeline.fail("\(error)")
      throw error
    }
  }

  /// Writes a compact copy of the newest version to a file, flushed to disk. Others may read and write
  /// meanwhile. The file gets its name when it is complete.
  ///
  /// - Complexity: as `compact`. The version is held until it ends.
  /// - Parameters:
  ///   - destination: the path of the file; it gets the owner and the permissions of the database, as far as
  ///     the user may give them.
  ///   - replacing: whether an existing Sheaf database is replaced; no other file ever is.
  ///   - keepsVersions: whether the copy has the kept versions, too: see `compact`.
  ///   - shouldStop: asked now and then, on the caller's thread; true ends the copying.
  /// - Throws: `EngineError.system` when there is a file that may not be replaced, or the copy cannot be
  ///   written, `.busy` when somebody has the existing database open, `.cancelled` when `shouldStop` has
  ///   returned true. An existing file is then as it was.
  public func writeCopy(
    to destination: String, replacing: Bool = false, keepsVersions: Bool = true,
    shouldStop: @escaping () -> Bool = { false }
  ) throws {
    while true {
      let snapshot = try snapshot()
      guard keepsVersions else {
        return try snapshot.writeCopy(
          to: destination, replacing: replacing, shouldStop: shouldStop)
      }
      let (holds, gone) = try translatingErrors(path) {
        try holdKept(of: snapshot.record, snapshot.blocks)
      }
      // A version was dropped meanwhile: the newest version keeps others.
      if !gone.isEmpty { continue }
      return try withExtendedLifetime(holds) {
        try snapshot.writeCopy(
          to: destination, replacing: replacing, keepsVersions: true, shouldStop)
      }
    }
  }
}

extension Snapshot {
  /// Writes a compact copy of this version to a file, flushed to disk. Others may read and write the database
  /// meanwhile. The copy's version is numbered one higher, and has no kept versions. The file gets its name
  /// when it is complete.
  ///
  /// Cost: reads all of the version, and encodes it anew on several threads.
  ///
  /// - Parameters:
  ///   - destination: the path of the file; it gets the owner and the permissions of the database, as far as
  ///     the user may give them.
  ///   - replacing: whether an existing Sheaf database is replaced; no other file ever is.
  ///   - shouldStop: asked now and then, on the caller's thread; true ends the copying.
  /// - Throws: `EngineError.system` when there is a file that may not be replaced, or the copy cannot be
  ///   written, `.busy` when somebody has the existing database open, `.damaged`, `.cancelled` when
  ///   `shouldStop` has returned true. An existing file is then as it was.
  public func writeCopy(
    to destination: String, replacing: Bool = false, shouldStop: @escaping () -> Bool = { false }
  ) throws {
    try writeCopy(to: destination, replacing: replacing, keepsVersions: false, shouldStop)
  }

  /// - Parameter keepsVersions: requires that this version's kept versions are held.
  fileprivate func writeCopy(
    to destination: String, replacing: Bool, keepsVersions: Bool,
    _ shouldStop: @escaping () -> Bool
  ) throws {
    try translatingErrors(destination) {
      try System.checkPath(destination)
      let own = blocks.storage as? FileStorage
      let replaces = try replacesDatabase(destination, own, replacing)
      let file = try ReplacementFile(for: destination, like: own?.descriptor)
      _ = try Compactor.copy(
        record, blocks, to: try FileStorage(file), identity: .random(),
        keepsVersions: keepsVersions,
        shouldStop: shouldStop)
      if replaces {
        try Database.whileUnused(destination) { try file.putInPlace(replacing: true) }
      } else {
        try file.putInPlace(replacing: false)
      }
    }
  }

  /// Whether there is a database to be replaced; throws for any other file.
  private func replacesDatabase(_ path: String, _ own: FileStorage?, _ replacing: Bool) throws
    -> Bool
  {
    guard let status = try System.linkStatus(path: path) else { return false }
    let isOwn = own?.identity == FileIdentity(device: status.device, inode: status.inode)
    guard replacing, !isOwn, try Database.isDatabase(at: path) else {
      throw SystemError.isExisting(path)
    }
    return true
  }
}
