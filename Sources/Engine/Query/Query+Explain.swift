extension Query {
  /// Describes in one line for people how the query finds its objects: by which index, with how many
  /// candidates in how many of the table's leaves (blocks of rows), or why it reads the whole table.
  ///
  ///     index on 'Category': 37 candidates in 12 of 4,120 leaves
  ///     scan: no index helps with the filter
  ///
  /// The text may change between releases.
  ///
  /// - Complexity: O(candidates + leaves).
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`.
  public func explain(in table: Table) throws -> String { try explanation(of: table) }

  package func explanation(of source: any LeafSource) throws -> String {
    try ResultReader(self, source).explanation()
  }
}

extension ResultReader {
  func explanation() throws -> String {
    guard let filter else { return "scan: there is no filter" }
    return try translatingErrors(table.path) {
      guard let plan = try IndexPlan(filter, table) else {
        return "scan: no index helps with the filter"
      }
      let names = plan.lookups.flatMap(\.columnIDs).reduce(into: [String]()) { names, id in
        guard let place = schema.columnIDs.firstIndex(of: id) else { return }
        let name = "'\(schema.columns[place].name)'"
        if !names.contains(name) { names.append(name) }
      }
      let objects = try table.objectCount
      let index =
        names.count == 1 ? "index on \(names[0])" : "indexes on \(names.joined(separator: ", "))"
      guard plan.pays(objects: objects, limit: enough) else {
        return "scan: the \(index) would find \(Self.shown(Int(clamping: plan.count))) of "
          + "\(Self.shown(objects)) objects"
      }
      if names.isEmpty { return "no object can match" }
      let candidates = try plan.candidates()
      var leaves = 0
      try table.walkLeaves(holding: candidates) { _, _ in
        leaves += 1
        return true
      }
      return "\(index): \(Self.shown(candidates.count)) "
        + "\(candidates.count == 1 ? "candidate" : "candidates") in \(Self.shown(leaves)) of "
        + "\(Self.shown(try table.leafCount())) leaves"
    }
  }

  /// A number with thousands separators.
  private static func shown(_ number: Int) -> String {
    var digits = Array(String(number))
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: place)
      place -= 3
    }
    return String(digits)
  }
}
