import Testing

@testable import Base

#if os(Linux)
  /// What an access list becomes for a file that cannot have it.
  @Suite struct AccessListTests {
    private func list(_ entries: [(tag: UInt8, permissions: UInt8)]) -> [UInt8] {
      [2, 0, 0, 0] + entries.flatMap { [$0.tag, 0, $0.permissions, 0, 9, 0, 0, 0] }
    }

    @Test("Nobody may do more without the list than with it")
    func plainPermissions() throws {
      let (owner, user, owning, group, mask, others): (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) =
        (1, 2, 4, 8, 0x10, 0x20)
      for (entries, expected) in [
        // The mask is what the group seems to have.
        ([(owner, 6), (user, 6), (owning, 0), (mask, 6), (others, 0)], 0),
        ([(owner, 6), (owning, 6), (mask, 4), (others, 4)], 0o44),
        ([(owner, 6), (owning, 4), (mask, 6), (others, 4)], 0o44),
        // A user or group that may do less than others, of whom they are some without the list.
        ([(owner, 6), (user, 0), (owning, 6), (mask, 6), (others, 4)], 0),
        ([(owner, 6), (owning, 6), (group, 4), (mask, 6), (others, 6)], 0o44),
      ] as [([(UInt8, UInt8)], UInt32)] {
        let found = AccessList(list(entries.map { (tag: $0.0, permissions: $0.1) }))
        #expect(found?.plainPermissions == expected, "\(entries)")
      }
      #expect([[], [2, 0, 0, 0, 1], [3, 0, 0, 0]].allSatisfy { AccessList($0) == nil })
    }
  }
#endif
