/// A table that an import builds beside the visible one. Readers do not see it until it is complete.
///
/// Thread rule: a plain value, `Sendable`.
public struct PendingTable: Sendable, Equatable {
  /// The name of the table that it will become.
  public let name: String
  /// The number of its objects so far.
  public let objects: Int
  /// When it was begun, to the second; nil when unknown.
  public let begun: DateTime?
  /// The description of the import run that builds it.
  public let madeBy: String
  /// The version from which it was begun. Later changes of the visible table by others are merged with it by
  /// the table's key, or prevent it from replacing the table.
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
  /// The pending tables of this version, in the order in which they were begun.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: `EngineError.damaged`.
  public var pendingTables: [PendingTable] {
    get throws { try history().pending.map(PendingTable.init) }
  }
}
