/// A table that an import is making beside the visible one, which nobody sees before it is complete.
///
/// Thread rule: a plain value, `Sendable`.
public struct PendingTable: Sendable, Equatable {
  /// The table that it is going to be.
  public let name: String
  /// How many objects it has by now.
  public let objects: Int
  /// When it was begun, to the second; nil when that is not known.
  public let begun: DateTime?
  /// What makes it, as the program says.
  public let madeBy: String
  /// The version after which it was begun. What somebody else has done to the table since is merged with it by
  /// the table's key, or keeps it from taking the table's place.
  public let since: UInt64

  init(_ root: PendingRoot) {
    name = root.name
    objects = Int(clamping: root.objects)
    begun = root.begun.dateTime
    madeBy = root.begun.what
    since = root.since
  }
}

extension Snapshot {
  /// What is pending beside this version's tables, in the order in which that was begun.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: `EngineError.damaged`.
  public var pendingTables: [PendingTable] {
    get throws { try history().pending.map(PendingTable.init) }
  }
}
