#if !canImport(Darwin)
  /// The POSIX access list of a file, in the kernel's form: version 4, then for each entry tag 2 ·
  /// permissions 2 · user or group 4, all little-endian (linux/posix_acl_xattr.h, acl(5)).
  ///
  /// Thread rule: a plain value, `Sendable`.
  struct AccessList: Sendable {
    private enum Tag {
      static let user: UInt16 = 0x02
      static let owningGroup: UInt16 = 0x04
      static let group: UInt16 = 0x08
      static let mask: UInt16 = 0x10
      static let others: UInt16 = 0x20
    }

    private static let version: UInt32 = 2
    private var entries: [(tag: UInt16, permissions: UInt32)] = []

    /// Nil for a form that is not known.
    init?(_ bytes: [UInt8]) {
      func number(_ place: Int, _ count: Int) -> UInt32 {
        bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
      }
      guard bytes.count >= 4, bytes.count % 8 == 4, number(0, 4) == Self.version else { return nil }
      for place in stride(from: 4, to: bytes.count, by: 8) {
        entries.append((UInt16(number(place, 2)), number(place + 2, 2) & 7))
      }
    }

    /// The permissions of the owning group and of others for a file without a list, by which nobody may do
    /// more than with it: who is named in the list may be a member of the group, or one of the others.
    var plainPermissions: UInt32 {
      func least(_ tags: UInt16...) -> UInt32 {
        entries.filter { tags.contains($0.tag) }.reduce(7) { $0 & $1.permissions }
      }
      let named = least(Tag.user, Tag.group)
      let group = least(Tag.owningGroup, Tag.mask) & named
      return group << 3 | least(Tag.others) & named
    }
  }
#endif
