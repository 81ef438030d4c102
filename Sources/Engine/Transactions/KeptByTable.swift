/// State of the tables that were written last, kept between transactions. Two tables, since a table and its
/// companion are often written together; more would use memory that no limit counts.
///
/// Thread rule: confined to the writer.
struct KeptByTable<Kept> {
  private static var most: Int { 2 }
  /// By the numbers of the tables, the newest last.
  private var kept: [(table: UInt32, value: Kept)] = []

  /// Removes and returns the state of a table.
  mutating func take(_ table: UInt32) -> Kept? {
    kept.firstIndex { $0.table == table }.map { kept.remove(at: $0).value }
  }

  /// The state of a table, which remains stored.
  subscript(table: UInt32) -> Kept? { kept.first { $0.table == table }?.value }

  /// Stores the state of a table, in place of the oldest one.
  mutating func keep(_ value: Kept, of table: UInt32) {
    kept.removeAll { $0.table == table }
    if kept.count == Self.most { kept.removeFirst() }
    kept.append((table, value))
  }
}
