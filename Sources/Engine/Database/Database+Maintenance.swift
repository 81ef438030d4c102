import Base

extension Database {
  /// Makes the process report the file and the place before it ends because a mapped database cannot be read:
  /// a bad block of the disk, a file truncated from outside, a lock file for which the disk has no space. It
  /// writes one line to standard error and exits with status 74; without it, SIGBUS ends the process without
  /// a message.
  ///
  /// For programs without a SIGBUS handler of their own: an existing handler stays, and the call does
  /// nothing. Faults at other addresses go to the previous handler.
  ///
  /// Thread rule: any thread; once is enough.
  ///
  /// - Returns: false when the program has a SIGBUS handler.
  @discardableResult
  public static func reportBusErrors() -> Bool { BusErrors.report() }

  /// Verifies every block, reference and invariant of the newest version and of the kept versions.
  ///
  /// Reads the whole file; writers continue meanwhile. Problems, including blocks that the disk cannot read,
  /// are reported, not thrown.
  ///
  /// A deep check also compares all redundant data: every value as scans, lookups and exports read it; the
  /// nulls and bounds of columns, including those of changed rows; every entry of every index with its
  /// object; the map of free pages with the blocks reached; the notes of tables. It also checks older
  /// versions that are held, and the version of the other commit slot if its pages are whole.
  ///
  /// Thread rule: any thread.
  ///
  /// - Parameter deep: whether to compare all redundant data.
  /// - Complexity: O(bytes in use): every column of every cluster is decoded. Memory: one cluster and some
  ///   100 bytes a block. A deep check decodes every value twice more, looks up every entry of every index,
  ///   uses 4 bytes a page, and reads what only older versions have.
  /// - Throws: as `snapshot`; `EngineError.system` when the file cannot be read.
  public func check(deep: Bool = false) throws -> CheckReport {
    let (hold, present) = try holdForLooking()
    return try translatingErrors(path) {
      // A reader of its own, with no bytes verified yet: they may have been damaged since they were read
      // before.
      let storage = PrereadStorage(present)
      let blocks = try BlockReader(storage: storage)
      // The lock file has the versions that other processes hold.
      var unanswered = 0
      func heldVersions() throws(SystemError) -> [VersionRecord] {
        do throws(SystemError) {
          return try coordination.heldVersions().map(\.record)
        } catch {
          unanswered += 1
          throw error
        }
      }
      // The version must stay held to the end, not only until its record was read.
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

  /// Verifies one version only: no other version, no slot, no free page.
  ///
  /// - Parameters:
  ///   - deep: whether to compare all redundant data, as in `check(deep:)`.
  ///   - snapshot: a snapshot of this database.
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

  /// Estimates how much space `compact` would free, by encoding some of the objects as it would.
  ///
  /// Thread rule: any thread; writers and readers continue meanwhile.
  ///
  /// - Parameter samples: the number of places in each table, of about 256 KiB each, that are encoded; at
  ///   least three. A table of up to 4 MiB is measured as a whole.
  /// - Complexity: O(clusters), plus the encoding of samples × 256 KiB and of one compacted cluster for each
  ///   table, on several threads.
  /// - Throws: the errors of `snapshot`; `EngineError.damaged`.
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

  /// Rewrites the file without its free space, in large clusters: into a temporary file beside it, which is
  /// flushed, read back, and renamed into place. A crash at any moment leaves the old file or the new one.
  ///
  /// The compaction is skipped, and the result has the reason, when another process or handle has the file
  /// open, a snapshot is held, the disk has no space, the copy could not have the file's owner and
  /// permissions, or the file has other names. It waits for earlier writers.
  ///
  /// - Complexity: O(bytes in use): everything is decoded, encoded and read back, on as many threads as there
  ///   are processors. The disk needs space for the copy.
  /// - Parameters:
  ///   - keepsVersions: whether kept versions are preserved. What they share with the newest version and with
  ///     each other stays shared, and clusters are then not merged. False gives the smallest file. Pending
  ///     tables (`Snapshot.pendingTables`) are always preserved in the same way.
  ///   - shouldStop: called now and then, on the caller's thread; true ends the compaction.
  /// - Throws: `EngineError.cancelled` when `shouldStop` has returned true; `.obstructed` when something that
  ///   is not Sheaf's has the temporary file's name; other errors of `EngineError` when reading or writing
  ///   fails. The file is then unchanged, and nothing is left beside it.
  public func compact(
    keepsVersions: Bool = true, shouldStop: @escaping () -> Bool = { false }
  ) throws -> CompactionResult {
    guard options.access != .readOnly else { throw EngineError.readOnly(path: path) }
    return try translatingErrors(path) {
      let nesting = try NestingGuard.enter(coordination.identity, path: path)
      defer { NestingGuard.leave(nesting) }
      // `close` waits for it.
      try addTransaction()
      defer { removeTransaction() }
      let turn = try enterQueue()
      do {
        let parts = try parts
        // Needed also when the compaction is skipped: pages that another handle has written are not free.
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
        // A concurrent `close` has not reported the version either.
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
        // Other handles cannot open the file until this one is closed, so it must report the failure.
        parts.pipeline.fail("\(second)")
      }
      throw error
    }
    try coordination.shareAgain()
    return result
  }

  /// Compacts while nothing else uses the file.
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

  /// The path of the temporary file of a compaction.
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
      // Only its owner may read it until it has the file's permissions.
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
      current.set(fresh)
      coordination.adopt(storage.identity, locks, first: recovered.record.version)
      coordination.visible.store(recovered.record)
    } catch {
      // This handle's file no longer has the name, so nothing may be written to it.
      parts.pipeline.fail("\(error)")
      throw error
    }
  }

  /// Writes a compact copy of the newest version to a file and flushes it. The database may be read and
  /// written meanwhile. The file gets its name when it is complete.
  ///
  /// - Complexity: as `compact`. The version is held until it ends.
  /// - Parameters:
  ///   - destination: the path of the file. It gets the database's owner and permissions, as far as the user
  ///     may set them.
  ///   - replacing: whether an existing Sheaf database is replaced. No other file is ever replaced.
  ///   - keepsVersions: whether the copy has the kept versions; see `compact`.
  ///   - shouldStop: called now and then, on the caller's thread; true ends the copying.
  /// - Throws: `EngineError.system` when a file is there that may not be replaced, or the copy cannot be
  ///   written; `.busy` when the existing database is open; `.cancelled` when `shouldStop` has returned true.
  ///   An existing file is then unchanged.
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
      // A version was dropped meanwhile: read the newest version's list again.
      if !gone.isEmpty { continue }
      return try withExtendedLifetime(holds) {
        try snapshot.writeCopy(
          to: destination, replacing: replacing, keepsVersions: true, shouldStop)
      }
    }
  }
}

extension Snapshot {
  /// Writes a compact copy of this version to a file and flushes it. The database may be read and written
  /// meanwhile. The copy has this version only, with a number one higher. The file gets its name when it is
  /// complete.
  ///
  /// Cost: reads the whole version and encodes it anew, on several threads.
  ///
  /// - Parameters:
  ///   - destination: the path of the file. It gets the database's owner and permissions, as far as the user
  ///     may set them.
  ///   - replacing: whether an existing Sheaf database is replaced. No other file is ever replaced.
  ///   - shouldStop: called now and then, on the caller's thread; true ends the copying.
  /// - Throws: `EngineError.system` when a file is there that may not be replaced, or the copy cannot be
  ///   written; `.busy` when the existing database is open; `.damaged`; `.cancelled` when `shouldStop` has
  ///   returned true. An existing file is then unchanged.
  public func writeCopy(
    to destination: String, replacing: Bool = false, shouldStop: @escaping () -> Bool = { false }
  ) throws {
    try writeCopy(to: destination, replacing: replacing, keepsVersions: false, shouldStop)
  }

  /// - Parameter keepsVersions: true requires that this version's kept versions are held.
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

  /// Returns whether there is a database to replace; throws for any other file.
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
