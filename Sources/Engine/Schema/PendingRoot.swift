import Base

/// A pending table, which an import builds beside the visible one: see `docs/design.md`, "Pending tables".
///
///     number of the table 4 · zero 4 · since 8 · objects 8 · when it was begun 8 ·
///     reference to the catalogue of what is being made 24 · reference to the catalogue of what was there 24
///     (zeros: there was no table) · name (length 4, UTF-8) · what makes it (length 4, UTF-8)
package struct PendingRoot: Sendable, Equatable {
  /// The number of the table.
  package var table: UInt32
  /// The name of the table after its publication.
  package var name: String
  /// The version from which it was begun.
  package var since: UInt64
  /// The number of its objects so far.
  package var objects: UInt64 = 0
  /// When and by which import run it was begun.
  package var begun: VersionOrigin
  /// A catalogue with the pending table and its companions.
  package var root: BlockReference
  /// The catalogue with the visible table as it was when the pending one was begun; nil when there was none.
  /// Its blocks stay unchanged until the pending table is published or dropped.
  package var base: BlockReference?

  package init(
    table: UInt32, name: String, since: UInt64, begun: VersionOrigin, base: BlockReference?
  ) {
    self.table = table
    self.name = name
    self.since = since
    self.begun = begun
    self.base = base
    root = BlockReference(offset: 0, length: 0, checksum: 0)
  }

  func encode(into writer: inout ByteWriter) {
    writer.append(table)
    writer.append(UInt32(0))
    writer.append(since)
    writer.append(objects)
    writer.append(UInt64(bitPattern: begun.secondsSince1970))
    root.encode(into: &writer)
    (base ?? BlockReference(offset: 0, length: 0, checksum: 0)).encode(into: &writer)
    writer.append(name)
    writer.append(begun.what)
  }

  /// - Parameter newest: the version with this pending table.
  init(from reader: inout ByteReader, of newest: UInt64) throws(DecodingFailure) {
    let at = reader.offset
    table = try reader.read(UInt32.self, "number of a pending table")
    guard table > 0, try reader.read(UInt32.self, "pending table") == 0 else {
      throw DecodingFailure(what: "the number of a pending table", offset: at)
    }
    since = try reader.read(UInt64.self, "version before a pending table")
    guard since > 0, since < newest else {
      throw DecodingFailure(what: "a pending table was begun after version \(since)", offset: at)
    }
    objects = try reader.read(UInt64.self, "objects of a pending table")
    guard objects <= Catalogue.mostObjects else {
      throw DecodingFailure(what: "a pending table has too many objects", offset: at)
    }
    let seconds = Int64(bitPattern: try reader.read(UInt64.self, "time of a pending table"))
    root = try BlockReference(from: &reader)
    let base = try BlockReference(from: &reader)
    guard root.pages(within: .max) != nil else {
      throw DecodingFailure(what: "the place of a pending table", offset: at)
    }
    if base == BlockReference(offset: 0, length: 0, checksum: 0) {
      self.base = nil
    } else {
      guard base.pages(within: .max) != nil else {
        throw DecodingFailure(what: "the place of what a pending table came from", offset: at)
      }
      self.base = base
    }
    name = try reader.readText("name of a pending table")
    guard !name.isEmpty, !Catalogue.isReserved(name) else {
      throw DecodingFailure(what: "a pending table has no name", offset: at)
    }
    begun = VersionOrigin(
      secondsSince1970: seconds, what: try reader.readText("what makes a pending table"))
  }

  /// Its catalogues as version records, through which all of its blocks are reached.
  ///
  /// - Parameter version: a version with this pending table.
  package func records(in version: VersionRecord) -> (pending: VersionRecord, base: VersionRecord?)
  {
    func record(_ root: BlockReference) -> VersionRecord {
      VersionRecord(
        version: version.version, root: root, end: version.end, isOfPendingTable: true)
    }
    return (record(root), base.map(record))
  }
}

extension VersionRoots {
  /// The table of a pending root, with its companions.
  ///
  /// - Parameter isBase: true for the visible table as it was when the pending one was begun.
  /// - Returns: nil when there was no such table.
  /// - Throws: `BlockError`, `DecodingFailure` when the block is damaged or belongs to another table.
  package static func pending(
    _ pending: PendingRoot, in version: VersionRecord, _ blocks: BlockReader, isBase: Bool = false
  ) throws -> VersionRoots? {
    let (own, base) = pending.records(in: version)
    guard let record = isBase ? base : own else { return nil }
    let roots = try VersionRoots(record, blocks)
    guard roots.catalogue.history == nil,
      let table = roots.catalogue.table(number: pending.table),
      table.name == pending.name || isBase,
      isBase || table.root.count == pending.objects,
      roots.catalogue.tables.allSatisfy({
        $0.number == pending.table || Catalogue.isCompanion($0.name, of: pending.table)
      })
    else {
      throw DecodingFailure(
        what: "the catalogue of the pending table '\(pending.name)' is of something else", offset: 0
      )
    }
    return roots
  }
}

extension History {
  /// The roots that a version with this history reaches in addition to its own tables: the kept versions and,
  /// under its own number, the pending tables.
  package func records(in version: VersionRecord) -> [VersionRecord] {
    kept.map(\.record)
      + pending.flatMap { root in
        let (own, base) = root.records(in: version)
        return [own] + (base.map { [$0] } ?? [])
      }
  }
}
