import Base

/// A version that is alive: the newest one, or an older one that somebody holds.
///
/// Thread rule: a plain value, `Sendable`.
public struct ActiveVersion: Sendable, Equatable {
  /// A process that holds the version.
  public struct Holder: Sendable, Equatable {
    /// The process's number.
    public let process: Int32
    /// How many reader slots the process uses for it: one for each handle with snapshots of it, seldom more.
    public let snapshots: Int
    /// True for the process that asks.
    public let isThisProcess: Bool
  }

  /// The version's number.
  public let version: UInt64
  /// True for the version that `snapshot()` would now return.
  public let isNewest: Bool
  /// In the order of process numbers; empty for a newest version that nobody holds.
  public let holders: [Holder]
  /// Bytes, in whole pages, that this version reaches and neither a newer one nor a kept one does. They are
  /// free once this version and all older ones are released; 0 for the newest.
  public let pinnedBytes: Int
}

extension Database {
  /// The versions that are alive, oldest first: their holders, and the space that they keep from reuse.
  ///
  /// Works also when as many snapshots are held as there may be.
  ///
  /// Thread rule: any thread; writers and readers go on meanwhile, in all processes.
  ///
  /// - Complexity: O(tree nodes of all these versions).
  /// - Throws: `EngineError.closed`, `.busy`, `.damaged`, `.system`.
  public func activeVersions() throws -> [ActiveVersion] {
    try translatingErrors(path) {
      var attempts = 0
      while true {
        do {
          return try withKeptVersions { newest, kept in
            try activeVersions(try coordination.heldVersions(), newest: newest, kept: kept)
          }
        } catch let error as BlockError {
          // A reader that is just taking a version may name one that is gone already, for a moment.
          attempts += 1
          if attempts == 200 { throw error }
          System.sleep(milliseconds: 1)
        }
      }
    }
  }

  private func activeVersions(
    _ held: [HeldVersion], newest: Snapshot, kept: [VersionRecord]
  ) throws -> [ActiveVersion] {
    let process = System.processIdentifier
    var holders: [UInt64: [Int32: Int]] = [:]
    // The roots of pending tables are held under the version's number.
    var records: [UInt64: Set<VersionRecord>] = [newest.version: [newest.record]]
    for entry in held {
      records[entry.record.version, default: []].insert(entry.record)
      holders[entry.record.version, default: [:]][entry.process, default: 0] += 1
    }
    // Without the snapshot that this call itself has taken.
    holders[newest.version]?[process, default: 1] -= 1
    var seen = PageSet()
    for record in kept { try insertPages(of: record, newest.blocks, into: &seen) }
    var result: [ActiveVersion] = []
    for version in records.keys.sorted(by: >) {
      let before = seen.count
      for record in records[version] ?? [] {
        try insertPages(of: record, newest.blocks, into: &seen)
      }
      let list = (holders[version] ?? [:]).filter { $0.value > 0 }
        .sorted { $0.key < $1.key }
        .map {
          ActiveVersion.Holder(
            process: $0.key, snapshots: $0.value, isThisProcess: $0.key == process)
        }
      let isNewest = version == newest.version
      if list.isEmpty, !isNewest { continue }
      result.append(
        ActiveVersion(
          version: version, isNewest: isNewest, holders: list,
          pinnedBytes: version >= newest.version
            ? 0 : (seen.count - before) * Layout.pageBytes))
    }
    return result.reversed()
  }

  private func insertPages(of record: VersionRecord, _ blocks: BlockReader, into set: inout PageSet)
    throws
  {
    // Bytes beyond the file's end must not be looked at.
    guard record.end <= UInt64(try blocks.storage.length()) else {
      throw BlockError(
        path: path, offset: record.root.offset, length: record.root.length,
        what: "the held version \(record.version) reaches beyond the file's end")
    }
    do {
      try VersionRoots(record, blocks).forEachBlock(blocks) { reference, _, _ in
        if let pages = reference.pages(within: record.end) { set.insert(pages) }
      }
    } catch let error as DecodingFailure {
      throw BlockError(
        path: path, offset: record.root.offset, length: record.root.length,
        what: "\(error.what) at byte \(error.offset) of the catalogue")
    }
  }

  /// Refuses a commit that would keep more versions alive than the options allow.
  ///
  /// Cost: none without a limit; else one look at the reader slots.
  func checkActiveVersions() throws {
    guard let limit = options.maximumActiveVersions else { return }
    let held = try translatingErrors(path) { try coordination.heldVersions() }
    let active = Set(held.map(\.record.version)).count + 1
    guard active > limit,
      let oldest = held.min(by: { $0.record.version < $1.record.version })
    else { return }
    throw EngineError.tooManyVersions(
      path: path, active: active, limit: limit,
      oldest: VersionHolder(process: oldest.process, version: oldest.record.version))
  }
}
