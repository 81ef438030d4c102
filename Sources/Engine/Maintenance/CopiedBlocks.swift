import Base

/// What a backup stores about its database: a table of its own in the copy.
///
/// For each block of the copy that refers to others, it has the checksum of the block from which it was made;
/// all other blocks are equal byte for byte. A note has the identity of the database and the version of the
/// copy. A restored database has another note instead, with the version of the backup from which it was
/// restored.
struct CopiedBlocks {
  static let purpose = "copied blocks"
  static let noteName = "backup"
  static let originNoteName = "restored"

  /// The checksums of the original blocks, by the offset in the copy.
  private(set) var checksums: [UInt64: UInt64] = [:]
  /// The bytes of the blocks that `blocks` has found last.
  private(set) var bytes = 0
  /// The version of the database; the copy's version has the same number.
  private(set) var version: UInt64
  /// The checksum of its catalogue.
  private(set) var root: UInt64
  /// The line of versions to which that version belongs.
  private(set) var line: Line

  /// A line of versions, which begins when a database is restored from a copy: two lines may have the same
  /// numbers for different versions.
  struct Line {
    /// A random number; 0 for a database that was never restored.
    var mark: UInt64 = 0
    /// The version at which it left the line before; 0 for the first one.
    var begin: UInt64 = 0

    /// The version since which two lines have other versions; nil for the same line.
    func parting(from other: Line) -> UInt64? {
      if mark == other.mark { return nil }
      return other.mark != 0 ? max(begin, other.begin) : begin
    }
  }

  init(version: UInt64, root: UInt64, line: Line) {
    (self.version, self.root, self.line) = (version, root, line)
  }

  mutating func add(_ place: BlockReference, madeOf checksum: UInt64) {
    checksums[place.offset] = checksum
  }

  // MARK: Reading

  /// Continues the records of the last backup.
  init(_ old: CopiedBlocks, version: UInt64, root: UInt64, line: Line) {
    self = old
    (self.version, self.root, self.line) = (version, root, line)
  }

  /// The records of a copy; nil when the file is not a backup.
  ///
  /// - Throws: `EngineError.damaged`.
  init?(in snapshot: Snapshot) throws {
    guard let table = try snapshot.ownTable(Self.purpose),
      let noted = try Self.note(Self.noteName, of: snapshot.catalogue)
    else { return nil }
    (version, root, line) = noted
    var found: [UInt64: UInt64] = [:]
    try table.forEachRow { row in
      if case .int(let place) = row["place"], case .int(let checksum) = row["checksum"] {
        found[UInt64(bitPattern: place)] = UInt64(bitPattern: checksum)
      }
    }
    checksums = found
  }

  /// The version of a backup from which a database was restored, and the checksum of the backup's catalogue;
  /// nil when it was not restored.
  static func origin(_ catalogue: Catalogue) throws -> (version: UInt64, root: UInt64)? {
    try note(originNoteName, of: catalogue).map { ($0.version, $0.root) }
  }

  /// The line of a database's versions, or of those of which the file is a copy.
  static func line(of catalogue: Catalogue) throws -> Line {
    if let origin = try note(originNoteName, of: catalogue) {
      return Line(mark: origin.line.mark, begin: origin.version)
    }
    return try note(noteName, of: catalogue)?.line ?? Line()
  }

  /// The table in a copy's catalogue; nil when the file is neither a backup nor restored from one.
  static func table(of catalogue: Catalogue) -> Catalogue.TableEntry? {
    catalogue.table(named: Catalogue.ownName(purpose))
  }

  private static func note(
    _ name: String, of catalogue: Catalogue
  ) throws -> (version: UInt64, root: UInt64, line: Line)? {
    try table(of: catalogue)?.notes[name]?.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let version = try reader.read(UInt64.self, "version of a backup")
      let root = try reader.read(UInt64.self, "checksum of a backup")
      var line = Line()
      // Earlier versions of Sheaf end here.
      if reader.remaining > 0 {
        line.mark = try reader.read(UInt64.self, "line of versions")
        line.begin = try reader.read(UInt64.self, "beginning of a line of versions")
      }
      return (version, root, line)
    }
  }

  /// The blocks of versions of the copy, by the contents of which they are copies. Removes all other blocks
  /// from the records.
  ///
  /// - Complexity: O(tree nodes + bytes of overlays); shared ones are read once.
  mutating func blocks(
    of versions: [VersionRoots], _ blocks: BlockReader
  ) throws -> [BlockContent: BlockReference] {
    var walk = CopyWalk(checksums, blocks)
    for version in versions { try walk.add(version) }
    bytes = walk.bytes
    checksums = checksums.filter { walk.seen.contains($0.key) }
    return walk.found
  }

  // MARK: Writing

  /// Writes the table, and returns its entry in the catalogue.
  ///
  /// - Parameter note: the name of the note, for a backup or a restored file.
  func write(
    number: UInt32, as note: String, _ writer: BlockWriter, _ blocks: BlockReader
  ) throws -> Catalogue.TableEntry {
    let name = Catalogue.ownName(Self.purpose)
    let schema = try TableSchema(
      [Column("place", .int, nullable: false), Column("checksum", .int, nullable: false)],
      table: name, keyCode: nil)
    let store = ClusterStore(
      writer: writer, blocks: blocks, baseEnd: 0, builder: ClusterBuilder())
    store.columnIDs = schema.columnIDs
    let limits = TreeEditor.Limits()
    let tree = try TreeEditor(
      reader: TreeReader(blocks: blocks, root: .empty, end: 0), clusters: store, limits: limits)
    var table = Catalogue.TableEntry(number: number, name: name)
    var rows = store.newCluster()
    func close() throws {
      for entry in try store.close(rows, limits: limits) where entry.count > 0 {
        try tree.append(entry)
      }
      rows = store.newCluster()
    }
    for (place, checksum) in checksums.sorted(by: { $0.key < $1.key }) {
      try rows.rows.append(
        key: table.nextKey,
        values: [.int(Int64(bitPattern: place)), .int(Int64(bitPattern: checksum))])
      table.nextKey += 1
      if rows.count == limits.clusterRows { try close() }
    }
    if rows.count > 0 { try close() }
    table.root = try tree.seal()
    table.schema = try writer.append(node: schema.encode())
    var bytes = ByteWriter(capacity: 32)
    for number in [version, root, line.mark, line.begin] { bytes.append(number) }
    table.notes[note] = bytes.bytes
    return table
  }
}

/// Finds the blocks of a copy's versions.
private struct CopyWalk {
  private let checksums: [UInt64: UInt64]
  private let blocks: BlockReader
  private(set) var found: [BlockContent: BlockReference] = [:]
  private(set) var seen: Set<UInt64> = []
  private(set) var bytes = 0

  init(_ checksums: [UInt64: UInt64], _ blocks: BlockReader) {
    self.checksums = checksums
    self.blocks = blocks
  }

  mutating func add(_ version: VersionRoots) throws {
    let end = version.record.end
    note(
      .catalogue, BlockContent.Owner(),
      NodeEntry(firstKey: 0, count: 0, reference: version.record.root))
    for table in version.catalogue.tables {
      let owner = BlockContent.Owner(table: table.number)
      note(.schema, owner, NodeEntry(firstKey: 0, count: 0, reference: table.schema))
      if table.root.level > 0 {
        try add(table.root.entry, level: table.root.level, owner, end: end)
      }
      for (run, owner) in table.ownedRuns {
        try add(run.root.entry, level: run.root.level, owner, end: end)
      }
    }
  }

  /// - Returns: false when the block was seen before.
  @discardableResult
  private mutating func note(
    _ kind: BlockContent.Kind, _ owner: BlockContent.Owner, _ entry: NodeEntry
  ) -> Bool {
    guard seen.insert(entry.reference.offset).inserted else { return false }
    bytes += Int(entry.reference.length)
    switch kind {
    case .schema, .cluster, .indexLeaf:
      found[BlockContent(kind, owner, entry)] = entry.reference
    case .catalogue, .node, .overlay:
      // Without a known original it belongs to the copy only.
      guard let checksum = checksums[entry.reference.offset] else { return true }
      found[BlockContent(kind, owner, entry, checksum: checksum)] = entry.reference
    }
    return true
  }

  private mutating func add(
    _ entry: NodeEntry, level: Int, _ owner: BlockContent.Owner, end: UInt64
  ) throws {
    let kind = BlockContent.kind(
      level: level, isIndex: owner.isIndex, isOverlay: entry.reference.isOverlay)
    guard note(kind, owner, entry) else { return }
    switch kind {
    case .node:
      let children = try blocks.children(
        of: entry, level: level, isIndex: owner.isIndex, end: end)
      for child in children { try add(child, level: level - 1, owner, end: end) }
    case .overlay:
      let overlay = try blocks.overlay(entry, end: end)
      for reference in overlay.references.dropFirst() {
        note(
          .overlay, owner,
          NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: reference))
      }
      try add(overlay.base, level: 0, owner, end: end)
    case .cluster, .indexLeaf, .schema, .catalogue: break
    }
  }
}
