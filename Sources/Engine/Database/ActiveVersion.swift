import Base

/// A version that is alive: the newest one, or an older one that a snapshot holds.
///
/// Thread rule: a plain value, `Sendable`.
public struct ActiveVersion: Sendable, Equatable {
  /// A process that holds the version.
  public struct Holder: Sendable, Equatable {
    /// The process identifier.
    public let process: Int32
    /// How many reader slots the process uses for it: one for each handle with snapshots of it, seldom more.
    public let snapshots: Int
    /// True for the calling process.
    public let isThisProcess: Bool
  }

  /// The number of the version.
  public let version: UInt64
  /// True for the version that `snapshot()` would now return.
  public let isNewest: Bool
  /// The holding processes, by ascending identifier; empty for a newest version that no snapshot holds.
  public let holders: [Holder]
  /// Bytes, in whole pages, that this version reaches and no newer or kept version does. They become free
  /// once this version and all older ones are released; 0 for the newest.
  public let pinnedBytes: Int
}

extension Database {
  /// The versions that are alive, oldest first, each with its holders and the space that it keeps from reuse.
  ///
  /// It also works when all places for held versions are taken.
  ///
  /// Thread rule: any thread. It blocks neither writers nor readers of any process.
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
          // A reader that is just registering may name, for a moment, a version that no longer exists.
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
    // The snapshot that this call holds itself is not counted.
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
    // Bytes beyond the end of the file must not be read.
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

  /// Rejects a commit that would keep more versions alive than the options allow.
  ///
  /// Cost: none without a limit; otherwise it reads the reader slots once.
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
