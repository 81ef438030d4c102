import Base

/// A table that a run is making beside the visible one: see `docs/design.md`, "Pending tables".
///
///     number of the table 4 · zero 4 · since 8 · objects 8 · when it was begun 8 ·
///     reference to the catalogue of what is being made 24 · reference to the catalogue of what was there 24
///     (zeros: there was no table) · name (length 4, UTF-8) · what makes it (length 4, UTF-8)
package struct PendingRoot: Sendable, Equatable {
  /// The number that the table has, or is going to have.
  package var table: UInt32
  /// What it is going to be called.
  package var name: String
  /// The version before the one with which it was begun.
  package var since: UInt64
  /// How many objects it has by now.
  package var objects: UInt64 = 0
  /// When it was begun, and what makes it.
  package var begun: VersionOrigin
  /// A catalogue of the table as it is going to be, and of its companions.
  package var root: BlockReference
  /// The same of the table as it was when this was begun; nil: there was none. Its blocks stay as they are
  /// until this is put in place or dropped.
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

  /// - Parameter newest: the version that has it.
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

  /// The roots, as versions of their own: what a version with this one reaches besides.
  ///
  /// - Parameter version: one that has it.
  package func records(in version: VersionRecord) -> (pending: VersionRecord, base: VersionRecord?)
  {
    func record(_ root: BlockReference) -> VersionRecord {
      VersionRecord(version: version.version, root: root, end: version.end)
    }
    return (record(root), base.map(record))
  }
}

extension VersionRoots {
  /// The table of a pending root, with what goes with it.
  ///
  /// - Parameter isBase: as it was when the pending one was begun.
  /// - Returns: nil for what there was not.
  /// - Throws: `BlockError`, `DecodingFailure` when the block is damaged, or of another table.
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
  /// What a version with this history reaches besides its own tables: the versions that it keeps, and, under
  /// its own number, what is pending.
  package func records(in version: VersionRecord) -> [VersionRecord] {
    kept.map(\.record)
      + pending.flatMap { root in
        let (own, base) = root.records(in: version)
        return [own] + (base.map { [$0] } ?? [])
      }
  }
}
