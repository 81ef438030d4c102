import Base

/// A commit slot: the first sector of page 0 or page 1. Each commit writes the slot that does not
/// hold the durable version; the slot is the commit.
///
///     0   8  magic "SheafDB\n"
///     8   4  format: 1, 2 for a version with a history, 3 for one whose history has pending tables; 4 to 6
///            are the same three with keys of several columns; 6 more for a history with parts
///     12  4  page size (4096)
///     16  8  version, 1 to 2^62
///     24  8  end: no block of the version lies at or beyond it
///     32  24 root reference: offset 8, length 4, zero 4, checksum 8
///     56  16 identity of the database, random, the same in both slots
///     72  8  XXH64 of bytes 0..<72
///     80     zeros to the end of the page
package struct CommitSlot: Sendable, Equatable {
  package static let magic: [UInt8] = Array("SheafDB\n".utf8)
  package static let format: UInt32 = 1
  /// The format of a version with a history. A program that knows only format 1 would write over its pages
  /// and those of kept versions.
  package static let formatWithHistory: UInt32 = 2
  /// The format of a version whose history has pending tables, which share pages with the visible tables. A
  /// program that knows only format 2 would count a shared page for one of the two, and free it.
  package static let formatWithPending: UInt32 = 3
  /// Added to the format when keys have several columns, which a program that knows only formats 1 to 3 would
  /// not keep unique.
  package static let compoundKeys: UInt32 = 3
  /// Added to the format when a history has parts, which are damage to a program that knows only formats
  /// 1 to 6.
  package static let parts: UInt32 = 6
  static let formats = format...formatWithPending + compoundKeys + parts
  package static let encodedBytes = 80
  private static let checkedBytes = 72

  package var record: VersionRecord
  package var identity: DatabaseIdentity

  package init(record: VersionRecord, identity: DatabaseIdentity) {
    self.record = record
    self.identity = identity
  }

  /// The whole page of the slot.
  package func page() -> [UInt8] {
    var writer = ByteWriter(capacity: Layout.pageBytes)
    writer.append(Self.magic)
    writer.append(record.format)
    writer.append(UInt32(Layout.pageBytes))
    writer.append(record.version)
    writer.append(record.end)
    record.root.encode(into: &writer)
    writer.append(identity.high)
    writer.append(identity.low)
    writer.append(Checksum.of(writer.bytes))
    return writer.bytes + [UInt8](repeating: 0, count: Layout.pageBytes - writer.count)
  }

  /// The first slot's page in the copy that a compaction writes, and in the compacted file until the newest
  /// version is written there.
  package static let temporaryPage: [UInt8] =
    CompanionFile.Mark.temporary.bytes
    + [UInt8](repeating: 0, count: Layout.pageBytes - CompanionFile.Mark.temporary.bytes.count)

  /// The first slot's page while a database is created: flushed before all other writes, and overwritten by
  /// the first commit.
  package static let creationPage: [UInt8] = {
    let mark = Array("SheafNew database without a first version\n".utf8)
    return mark + [UInt8](repeating: 0, count: Layout.pageBytes - mark.count)
  }()

  /// The content of a slot's page.
  package enum PageContent: Sendable, Equatable {
    /// All zeros.
    case empty
    /// The mark of a compaction's copy, which has only the other slot.
    case temporary
    case valid(CommitSlot)
    /// The checksum matches, but this program does not know the format.
    case otherFormat(UInt32)
    case damaged(String)
    case foreign
  }

  package static func read(_ page: UnsafeRawBufferPointer) -> PageContent {
    if page.allSatisfy({ $0 == 0 }) { return .empty }
    if page.elementsEqual(temporaryPage) { return .temporary }
    guard page.starts(with: magic) else { return .foreign }
    guard page.count == Layout.pageBytes else { return .damaged("the page is cut short") }
    let sum = Checksum.of(UnsafeRawBufferPointer(rebasing: page[0..<checkedBytes]))
    do throws(DecodingFailure) {
      var reader = ByteReader(page, offset: magic.count)
      let format = try reader.read(UInt32.self, "format")
      let pageBytes = try reader.read(UInt32.self, "page size")
      let version = try reader.read(UInt64.self, "version")
      let end = try reader.read(UInt64.self, "end")
      let root = try BlockReference(from: &reader)
      let high = try reader.read(UInt64.self, "identity")
      let low = try reader.read(UInt64.self, "identity")
      guard try reader.read(UInt64.self, "checksum") == sum else {
        return .damaged("the checksum does not fit")
      }
      let whole = format > Self.parts ? format - Self.parts : format
      let plain = whole > Self.compoundKeys ? whole - Self.compoundKeys : whole
      // Without a history there are no parts.
      guard Self.formats.contains(format), whole == format || plain > Self.format else {
        return .otherFormat(format)
      }
      guard version > 0, version <= VersionRecord.lastVersion else {
        return .damaged("its version is \(version), which no file can have")
      }
      guard pageBytes == UInt32(Layout.pageBytes),
        end % UInt64(Layout.pageBytes) == 0, root.pages(within: end) != nil
      else { return .damaged("the values contradict each other") }
      return .valid(
        CommitSlot(
          record: VersionRecord(
            version: version, root: root, end: end, hasHistory: plain > Self.format,
            hasPending: plain == Self.formatWithPending, hasCompoundKeys: plain != whole,
            hasParts: whole != format),
          identity: DatabaseIdentity(high: high, low: low)))
    } catch {
      return .damaged(error.what)
    }
  }

  /// Returns whether a valid slot's page has only zeros after the slot.
  package static func restIsZero(_ page: UnsafeRawBufferPointer) -> Bool {
    page.dropFirst(encodedBytes).allSatisfy { $0 == 0 }
  }
}

extension VersionRecord {
  /// The format number in the version's slot.
  package var format: UInt32 {
    let plain =
      hasPending
      ? CommitSlot.formatWithPending
      : hasHistory ? CommitSlot.formatWithHistory : CommitSlot.format
    return plain + (hasCompoundKeys ? CommitSlot.compoundKeys : 0)
      + (hasParts ? CommitSlot.parts : 0)
  }
}

/// A random name that a database gets when it is created.
package struct DatabaseIdentity: Sendable, Hashable {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func random() -> DatabaseIdentity {
    DatabaseIdentity(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
  }
}
