import Base

/// In a deep check: the versions before the newest.
extension Checker {
  /// Checks every older version that somebody holds, and what the commit slots name besides.
  ///
  /// They are read as copies, block by block: nothing keeps others from releasing a version
  /// meanwhile, or from writing over one that only a slot names. What is wrong with a version
  /// counts when it is still held afterwards or, if only a slot names it, when all of its bytes are
  /// those that were written: else its pages are in use for something else, as they may be.
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

  /// True when a version is held for as long as a reader that is just taking it would need to find
  /// that it is gone.
  private static func stays(
    _ old: VersionRecord, _ held: () throws -> [VersionRecord]
  ) throws -> Bool {
    for _ in 0..<200 {
      guard try held().contains(old) else { return false }
      System.sleep(milliseconds: 1)
    }
    return true
  }

  /// True when no byte of a version has been written over, or cut off: what is wrong with it was written so.
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
        // No checksum covers the padding, which may lie in a page of its own.
        guard ClusterReader.verifyHeader(bytes, checksum: reference.checksum),
          bytes.suffix(ClusterFormat.padding).allSatisfy({ $0 == 0 })
        else { throw WrittenOver() }
        let cluster = try ClusterReader(bytes)
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
      // The bytes were vouched for.
    }
    return true
  }

  private struct WrittenOver: Error {}
}
