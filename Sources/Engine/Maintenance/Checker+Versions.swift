import Base

/// In a deep check: the versions before the newest.
extension Checker {
  /// Checks every older version that is held, and the version that only a commit slot names.
  ///
  /// They are read as copies, block by block: others may release a version meanwhile, or overwrite one that
  /// only a slot names. A problem of a held version counts if the version is still held afterwards. A problem
  /// of a version that only a slot names counts if all of its bytes are as written. In all other cases its
  /// pages may have been reused.
  mutating func checkOlderVersions(_ held: () throws -> [VersionRecord]) {
    let storage = blocks.storage
    do {
      var seen = Set(report.keptVersions + [record.version])
      for old in try held().sorted(by: { $0.version > $1.version })
      where old.version < record.version && seen.insert(old.version).inserted {
        try check(old, "which is held,") { try Self.stays(old, held) }
      }
      for case .valid(let slot) in try Recovery.read(blocks.storage) {
        let old = slot.record
        guard old.version < record.version, seen.insert(old.version).inserted else { continue }
        try check(old, "of the other slot,") { try Self.isWhole(old, storage) }
      }
    } catch {
      report.problems.append(Self.describe(error, "older versions"))
    }
  }

  private mutating func check(
    _ old: VersionRecord, _ what: String, _ counts: () throws -> Bool
  ) throws {
    var older = Checker(
      old, try BlockReader(storage: CopyingStorage(blocks.storage)), isDeep: true, after: self)
    older.checkTables()
    older.checkExtents()
    if try older.report.isSound || counts() {
      report.olderVersions.append(old.version)
      report.problems += older.report.problems.map { "version \(old.version), \(what) \($0)" }
    } else {
      report.passedOver.append(old.version)
    }
  }

  /// Returns whether a version stays held long enough. A reader that is registering holds a version for a
  /// moment even if it no longer exists.
  private static func stays(
    _ old: VersionRecord, _ held: () throws -> [VersionRecord]
  ) throws -> Bool {
    for _ in 0..<200 {
      guard try held().contains(old) else { return false }
      System.sleep(milliseconds: 1)
    }
    return true
  }

  /// Returns whether no byte of a version was overwritten or truncated: its problems were then written into
  /// it.
  private static func isWhole(_ old: VersionRecord, _ storage: any Storage) throws -> Bool {
    let blocks = try BlockReader(storage: CopyingStorage(storage))
    guard old.end <= UInt64(clamping: try storage.length()) else { return false }
    do {
      try VersionRoots(old, blocks).forEachBlock(blocks) { reference, kind, _ in
        guard kind == .cluster else {
          _ = try blocks.block(reference, end: old.end)
          return
        }
        let bytes = try blocks.extent(reference, end: old.end)
        defer { blocks.storage.forget(bytes) }
        guard ClusterReader.verifyHeader(bytes, checksum: reference.checksum) else {
          throw WrittenOver()
        }
        let cluster = try ClusterReader(bytes)
        // The padding may lie in a page of its own.
        guard cluster.hasZeroPadding() else { throw WrittenOver() }
        _ = try cluster.keys()
        for place in 0..<cluster.columnCount { _ = try cluster.open(cluster.column(at: place)) }
      }
    } catch is WrittenOver {
      return false
    } catch let error as BlockError {
      return !error.isWrittenOver
    } catch let error as ClusterError {
      return !error.isWrittenOver
    } catch is DecodingFailure {
      // All checksums match.
    }
    return true
  }

  private struct WrittenOver: Error {}
}
