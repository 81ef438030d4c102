/// Applies a filter to records that are not in a table yet, by the spellings of their fields.
///
/// Thread rule: a plain value, `Sendable`.
package struct RecordTest: Sendable {
  private let filter: CompiledPredicate
  /// The indices of the columns, by their numbers in the filter.
  private let places: [UInt32: Int]

  /// - Parameter columns: the columns of the records, with the readings of their fields.
  /// - Throws: `QueryError` when the filter names other columns, or compares a column with a literal that its
  ///   type does not allow; `EngineError.invalidSchema` when there is no column, or two columns have the same
  ///   name.
  package init(_ filter: Predicate, _ columns: [Column]) throws {
    let schema = try TableSchema(columns, table: "")
    self.filter = try CompiledPredicate(filter, schema)
    places = Dictionary(
      uniqueKeysWithValues: schema.columnIDs.enumerated().map { ($0.element, $0.offset) })
  }

  /// Returns whether the filter is true for a record: neither false nor unknown. A field that does not have
  /// its column's type makes no test true.
  ///
  /// - Parameters:
  ///   - room: memory for the tests, reused between records.
  ///   - field: returns the spelling in a column, by its index; nil for null.
  package func matches(
    room: inout [UInt8], _ field: (_ column: Int) -> UnsafeRawBufferPointer?
  ) -> Bool {
    matches(filter, &room, field)
  }

  /// The recursion is as deep as the predicate, whose depth its compilation has limited.
  private func matches(
    _ predicate: CompiledPredicate, _ room: inout [UInt8],
    _ field: (_ column: Int) -> UnsafeRawBufferPointer?
  ) -> Bool {
    switch predicate {
    case .constant(let isTrue): return isTrue
    case .all(let parts):
      for part in parts where !matches(part, &room, field) { return false }
      return true
    case .any(let parts):
      for part in parts where matches(part, &room, field) { return true }
      return false
    case .test(let test):
      guard let place = places[test.columnID] else { return false }
      if let spelling = field(place) { return test.matches(spelling, room: &room) ?? false }
      if case .isNull = test.question { return !test.isNegated }
      return false
    }
  }
}
