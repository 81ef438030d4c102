import Base

/// The versions that a database keeps in addition to the newest: a block of its own, referred to by the
/// catalogue of the newest version, so that a commit that keeps nothing new does not rewrite it.
///
///     0  1  kind, 'H'
///     1  1  form: 0, or 1 with pending tables
///     2  2  zero
///     4  4  how many versions are kept by themselves, before each import; 0: none are
///     8  4  number of kept versions
///     12    kept versions, ascending (`KeptRoot`)
///           with form 1: number of pending tables 4, 1 or more · pending tables (`PendingRoot`)
package struct History: Sendable, Equatable {
  static let kind: UInt8 = 0x48

  /// The maximum number of versions kept automatically.
  package static let mostKept: UInt32 = 1000
  /// The maximum number of versions with a tag: readers may hold all of them at once, with the others.
  package static let mostTagged = 500

  /// The number of versions kept automatically; an import may set another number.
  package var limit: UInt32 = 0
  /// Ascending.
  package var kept: [KeptRoot] = []
  /// Pending tables, in the order in which they were begun.
  package var pending: [PendingRoot] = []

  /// The maximum number of pending tables.
  package static let mostPending = 100

  package init() {}

  /// True when nothing has to be stored.
  package var isEmpty: Bool { limit == 0 && kept.isEmpty && pending.isEmpty }

  package func encode() -> [UInt8] {
    var writer = ByteWriter(capacity: 12 + kept.count * 96)
    writer.append(Self.kind)
    writer.append([pending.isEmpty ? 0 : 1, 0, 0])
    writer.append(limit)
    writer.append(UInt32(kept.count))
    for root in kept { root.encode(into: &writer) }
    if !pending.isEmpty { writer.append(UInt32(pending.count)) }
    for root in pending { root.encode(into: &writer) }
    return writer.bytes
  }

  /// - Parameter newest: the version with this history, newer than the kept versions.
  package init(
    decoding bytes: UnsafeRawBufferPointer, of newest: UInt64
  ) throws(DecodingFailure) {
    var reader = ByteReader(bytes)
    let (kind, form) = (
      try reader.read(UInt8.self, "kind"), try reader.read(UInt8.self, "form of the history")
    )
    guard kind == Self.kind, form <= 1,
      try reader.readBytes(2, "history").allSatisfy({ $0 == 0 })
    else { throw DecodingFailure(what: "it is not a history", offset: 0) }
    limit = try reader.read(UInt32.self, "number of versions to be kept")
    guard limit <= Self.mostKept else {
      throw DecodingFailure(what: "\(limit) versions are to be kept", offset: 4)
    }
    let count = try reader.read(UInt32.self, "number of kept versions")
    var last: UInt64 = 0
    var tags: Set<String> = []
    for _ in 0..<count {
      let at = reader.offset
      let root = try KeptRoot(from: &reader)
      guard root.record.version > last, root.record.version < newest else {
        throw DecodingFailure(
          what: "the kept version \(root.record.version) is out of order", offset: at)
      }
      last = root.record.version
      for tag in root.tags where !tags.insert(tag).inserted {
        throw DecodingFailure(what: "the tag '\(tag)' stands twice", offset: at)
      }
      kept.append(root)
    }
    if form == 1 { pending = try Self.readPending(&reader, of: newest) }
    guard reader.remaining == 0 else {
      throw DecodingFailure(what: "bytes are left over", offset: reader.offset)
    }
  }

  private static func readPending(
    _ reader: inout ByteReader, of newest: UInt64
  ) throws(DecodingFailure) -> [PendingRoot] {
    let count = try reader.read(UInt32.self, "number of pending tables")
    guard (1...mostPending).contains(Int(count)) else {
      throw DecodingFailure(what: "\(count) tables are pending", offset: reader.offset)
    }
    var pending: [PendingRoot] = []
    for _ in 0..<count {
      let at = reader.offset
      let root = try PendingRoot(from: &reader, of: newest)
      guard !pending.contains(where: { $0.name == root.name || $0.table == root.table }) else {
        throw DecodingFailure(what: "the table '\(root.name)' is pending twice", offset: at)
      }
      pending.append(root)
    }
    return pending
  }

  // MARK: Finding

  /// The index of a version; nil when it is not kept.
  package func place(of version: UInt64) -> Int? {
    let place = partitionPoint(kept.indices) { kept[$0].record.version >= version }
    return place < kept.count && kept[place].record.version == version ? place : nil
  }

  /// The index of the kept version with a tag.
  package func place(tagged tag: String) -> Int? { kept.firstIndex { $0.tags.contains(tag) } }

  // MARK: Dropping

  /// Drops the oldest automatically kept versions, down to `most`. Versions with a tag stay and are not
  /// counted.
  package mutating func letGo(beyond most: Int) {
    var surplus = kept.count { $0.isAutomatic && $0.tags.isEmpty } - most
    kept.removeAll { root in
      guard surplus > 0, root.isAutomatic, root.tags.isEmpty else { return false }
      surplus -= 1
      return true
    }
  }
}

/// A kept version: its root, and facts about it.
///
///     version 8 · when it was made 8 · flags 1 (1 kept by itself, 2 it has a history of its own) · zero 3 ·
///     root reference 24 · end 8 · what made it (length 4, UTF-8) ·
///     number of tags 4 · tags (length 4, UTF-8)
package struct KeptRoot: Sendable, Equatable {
  package var record: VersionRecord
  package var made: VersionOrigin
  /// False for a version that a user has asked to keep.
  package var isAutomatic: Bool
  package var tags: [String] = []

  package init(record: VersionRecord, made: VersionOrigin, isAutomatic: Bool) {
    self.record = record
    self.record.hasCompoundKeys = false
    self.made = made
    self.isAutomatic = isAutomatic
  }

  fileprivate func encode(into writer: inout ByteWriter) {
    writer.append(record.version)
    writer.append(UInt64(bitPattern: made.secondsSince1970))
    writer.append(UInt8((isAutomatic ? 1 : 0) | (record.hasHistory ? 2 : 0)))
    writer.append([0, 0, 0])
    record.root.encode(into: &writer)
    writer.append(record.end)
    writer.append(made.what)
    writer.append(UInt32(tags.count))
    for tag in tags { writer.append(tag) }
  }

  fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
    let version = try reader.read(UInt64.self, "kept version")
    let seconds = Int64(bitPattern: try reader.read(UInt64.self, "time of a version"))
    let at = reader.offset
    let flags = try reader.read(UInt8.self, "flags of a kept version")
    guard flags <= 3, try reader.readBytes(3, "kept version").allSatisfy({ $0 == 0 }) else {
      throw DecodingFailure(what: "the flags of a kept version are not known", offset: at)
    }
    let root = try BlockReference(from: &reader)
    let end = try reader.read(UInt64.self, "end of a kept version")
    guard end % UInt64(Layout.pageBytes) == 0, root.pages(within: end) != nil else {
      throw DecodingFailure(what: "the place of the kept version \(version)", offset: at)
    }
    record = VersionRecord(version: version, root: root, end: end, hasHistory: flags & 2 != 0)
    made = VersionOrigin(
      secondsSince1970: seconds, what: try reader.readText("what made a version"))
    isAutomatic = flags & 1 != 0
    for _ in 0..<(try reader.read(UInt32.self, "number of tags")) {
      tags.append(try reader.readText("tag"))
    }
  }
}

/// When and by which program or command a version was made. Known since the first version that keeps others.
package struct VersionOrigin: Sendable, Equatable {
  /// 0: unknown.
  package var secondsSince1970: Int64
  /// Empty: unknown.
  package var what: String

  package init(secondsSince1970: Int64 = 0, what: String = "") {
    self.secondsSince1970 = secondsSince1970
    self.what = what
  }
}
