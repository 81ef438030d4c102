/// What a database keeps of the tables that were written last, from transaction to transaction: of two, since
/// a table and its companion are often written together. More would cost memory that nobody counts.
///
/// Thread rule: confined to the writer.
struct KeptByTable<Kept> {
  private static var most: Int { 2 }
  /// By the tables' numbers, the newest last.
  private var kept: [(table: UInt32, value: Kept)] = []

  /// Hands over what is kept of a table.
  mutating func take(_ table: UInt32) -> Kept? {
    kept.firstIndex { $0.table == table }.map { kept.remove(at: $0).value }
  }

  /// What is kept of a table, which stays kept.
  subscript(table: UInt32) -> Kept? { kept.first { $0.table == table }?.value }

  /// Keeps something of a table, in the place of what is oldest.
  mutating func keep(_ value: Kept, of table: UInt32) {
    kept.removeAll { $0.table == table }
    if kept.count == Self.most { kept.removeFirst() }
    kept.append((table, value))
  }
}
