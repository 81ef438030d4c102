/// A table that an import is making beside the visible one. Readers do not see it before it is complete.
///
/// Thread rule: a plain value, `Sendable`.
public struct PendingTable: Sendable, Equatable {
  /// The name of the table that it will become.
  public let name: String
  /// The number of its objects so far.
  public let objects: Int
  /// When it was begun, to the second; nil when unknown.
  public let begun: DateTime?
  /// The description of the run that makes it.
  public let madeBy: String
  /// The version after which it was begun. Changes that others have made to the table since are merged
  /// with it by the table's key, or keep it from taking the table's place.
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
  /// The pending tables beside this version's tables, in the order in which they were begun.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: `EngineError.damaged`.
  public var pendingTables: [PendingTable] {
    get throws { try history().pending.map(PendingTable.init) }
  }
}
