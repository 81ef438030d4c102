/// Applies a filter to records that are not in a table yet, by the spellings of their fields.
///
/// Thread rule: a plain value, `Sendable`.
package struct RecordTest: Sendable {
  private let filter: CompiledPredicate
  /// The places of the columns, by their numbers in the filter.
  private let places: [UInt32: Int]

  /// - Parameter columns: of the records, with the readings of their fields.
  /// - Throws: `QueryError` when the filter names other columns, or compares one with a literal that its type
  ///   does not allow; `EngineError.invalidSchema` when there is no column, or two of one name.
  package init(_ filter: Predicate, _ columns: [Column]) throws {
    let schema = try TableSchema(columns, table: "")
    self.filter = try CompiledPredicate(filter, schema)
    places = Dictionary(
      uniqueKeysWithValues: schema.columnIDs.enumerated().map { ($0.element, $0.offset) })
  }

  /// Whether the filter is true of a record: neither false nor unknown. A field that is not of its column's
  /// type makes no test true.
  ///
  /// - Parameters:
  ///   - room: for the tests, kept from record to record.
  ///   - field: the spelling in a column, by its place; nil for null.
  package func matches(
    room: inout [UInt8], _ field: (_ column: Int) -> UnsafeRawBufferPointer?
  ) -> Bool {
    matches(filter, &room, field)
  }

  /// Recursion is as deep as the predicate, which its compilation bounds.
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
