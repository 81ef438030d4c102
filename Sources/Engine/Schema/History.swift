import Base

/// The versions that a database keeps in addition to the newest, and its pending tables (`StoredHistory`).
package struct History: Sendable, Equatable {
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
    self.record.hasParts = false
    self.made = made
    self.isAutomatic = isAutomatic
  }

  func encode(into writer: inout ByteWriter) {
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

  init(from reader: inout ByteReader) throws(DecodingFailure) {
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
