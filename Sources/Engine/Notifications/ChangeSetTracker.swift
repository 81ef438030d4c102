import Base

/// Follows the results of a query from version to version, and computes their change sets.
///
/// It stores the last reported version, and the keys of its results in order. When the results are the whole
/// table in the order of keys, it stores no keys: the positions come from the tree.
///
/// **Cost.** It reads only as much as necessary. The filter is applied to new objects and to those that
/// changed in the filter's columns; if these are few, bisection finds their places in a sorted list. With a
/// limit, an offset or distinct rows, the query runs again when an object was added, deleted, or changed in a
/// column that the query uses.
///
/// Thread rule: confined. A result of `advance` may be sent elsewhere.
package final class ChangeSetTracker {
  /// What happened to the results at the new version.
  package enum Change: Sendable {
    /// The results were read for the first time.
    case initial
    /// The list and its objects are unchanged.
    case unchanged
    case update(ResultsUpdate)
    /// The table was deleted.
    case deleted
  }

  /// The query, with the columns' names in the last reported version.
  package private(set) var query: Query
  package let tableNumber: UInt32
  /// The columns that the query names; nil before the first version.
  private var named: TableSchema?
  /// The table in the last reported version; nil before the first report, and when it was deleted.
  package private(set) var table: Table?
  /// The objects' keys in order; nil when they are the whole table, or there is no table.
  package private(set) var keys: [Int64]?
  private var isDeleted = false
  /// If more than one in this many objects changed, sorting all of them is about as fast as finding their
  /// places.
  var fewChanges = 64

  /// - Parameters:
  ///   - tableNumber: the `Table.number` of the query's table.
  ///   - schema: the columns that the query names; by default those of the first version.
  package init(_ query: Query, tableNumber: UInt32, schema: TableSchema? = nil) {
    self.query = query
    self.tableNumber = tableNumber
    named = schema
  }

  // MARK: Results

  /// The number of objects in the results.
  package var count: Int { keys?.count ?? table?.count ?? 0 }

  // MARK: Advancing

  /// Moves the results to a version, and returns the changes since the last one.
  ///
  /// - Parameters:
  ///   - new: the table in that version; nil when it no longer exists.
  ///   - cache: shares differences with other observers of the table.
  /// - Throws: `EngineError.invalidArgument` for another table, `.noSuchColumn` and `QueryError` when the
  ///   query does not fit the table, `.damaged`. The tracker then stays at its version.
  package func advance(to new: Table?, sharing cache: DifferenceCache? = nil) throws -> Change {
    guard let new, !isDeleted else {
      if isDeleted { return .unchanged }
      isDeleted = true
      (table, keys) = (nil, nil)
      return .deleted
    }
    guard new.number == tableNumber else {
      throw EngineError.invalidArgument(
        "table '\(new.name)' is not the one that these results are of")
    }
    let before = (query, named)
    do {
      try followNames(to: new)
      return try advance(from: table, to: new, sharing: cache)
    } catch {
      (query, named) = before
      throw error
    }
  }

  /// Makes the query use the columns' names in a version.
  private func followNames(to new: Table) throws {
    if let named, named != new.schema {
      query = try query.renamed(from: named, to: new.schema, table: new.name)
    }
    named = new.schema
  }

  private func advance(
    from old: Table?, to new: Table, sharing cache: DifferenceCache?
  ) throws -> Change {
    guard let old else {
      _ = try new.indices(of: query.columns ?? [])
      keys = isWholeTable ? nil : try query.keys(in: new)
      table = new
      return .initial
    }
    let difference =
      try cache?.difference(from: old, to: new) ?? TableDifference(from: old, to: new)
    if difference.isEmpty, old.schema == new.schema {
      table = new
      return .unchanged
    }
    let (next, update) = try followed(old, new, difference)
    switch next {
    case .whole: break
    // In place, because nothing else here has the list.
    case .edited(let edit): keys?.apply(edit)
    case .replaced(let list): keys = list
    }
    table = new
    return update.isEmpty ? .unchanged : .update(update)
  }

  private var hasWindow: Bool { query.offset != 0 || query.limit != nil }

  private var isWholeTable: Bool {
    let isUnfiltered = query.filter == nil || query.filter == .everything
    return isUnfiltered && query.sort.isEmpty && !query.isDistinct && !hasWindow
  }

  private static func whole(_ difference: TableDifference) -> ResultsUpdate {
    ResultsUpdate(
      deletions: difference.deleted.map(\.position),
      insertions: difference.inserted.map(\.position),
      modifications: difference.modified.map {
        .init(
          oldPosition: $0.oldPosition, newPosition: $0.newPosition, columnSet: $0.columnSet)
      }, difference)
  }

  /// How the keys of the new results come from those before.
  private enum Next {
    /// They are the whole table, and not stored.
    case whole
    case edited(ListEdit)
    case replaced([Int64])
  }

  /// The keys of the new results, and the changes. Changes nothing.
  private func followed(
    _ old: Table, _ new: Table, _ difference: TableDifference
  ) throws -> (Next, ResultsUpdate) {
    guard let keys else { return (.whole, Self.whole(difference)) }
    let mayFollow = !query.isDistinct && !hasWindow && old.schema == new.schema
    if mayFollow, query.sort.isEmpty, let filter = query.filter {
      return try filtered(keys, filter, new, difference)
    }
    let list: ListDifference
    var next = keys
    if try !mayChange(difference, old, new) {
      list = ListDifference(from: keys, to: keys)
    } else if mayFollow, let sorted = try sorted(keys, new, difference) {
      (next, list) = (sorted.keys, sorted.difference)
    } else {
      next = try query.keys(in: new)
      list = ListDifference(from: keys, to: next)
    }
    return (.replaced(next), Self.update(keys, list, difference))
  }

  /// For each column set, whether it has a column that the query uses.
  private static func sets(
    of difference: TableDifference, with deciding: Set<String>, _ new: Table
  ) -> [Bool] {
    difference.columnSets.map { !new.schema.names(of: $0).isDisjoint(with: deciding) }
  }

  // MARK: Sorts and windows

  /// False when the list of objects is certainly the same.
  private func mayChange(
    _ difference: TableDifference, _ old: Table, _ new: Table
  ) throws -> Bool {
    guard difference.deleted.isEmpty, difference.inserted.isEmpty, old.schema == new.schema else {
      return true
    }
    var deciding = query.filter?.columnNames ?? []
    deciding.formUnion(query.sort.map(\.column))
    if query.isDistinct {
      deciding.formUnion(query.distinctColumns ?? query.columns ?? new.columns.map(\.name))
    }
    return Self.sets(of: difference, with: deciding, new).contains(true)
  }

  /// The sorted list with the changed objects at their new places; nil when there are too many.
  private func sorted(
    _ keys: [Int64], _ new: Table, _ difference: TableDifference
  ) throws -> SortedList? {
    let deciding = (query.filter?.columnNames ?? []).union(query.sort.map(\.column))
    let decides = Self.sets(of: difference, with: deciding, new)
    let moved = difference.modified.filter { decides[$0.columnSet] }.map(\.key)
    let changes = difference.deleted.count + difference.inserted.count + moved.count
    guard changes <= keys.count / fewChanges else { return nil }
    var coming = (difference.inserted.map(\.key) + moved).sorted()
    if let filter = query.filter {
      let answers = try RowMatcher(filter, new).matches(coming)
      coming = zip(coming, answers).filter(\.1).map(\.0)
    }
    let leaving = Set(moved).union(difference.deleted.map(\.key))
    return try translatingErrors(new.tree.blocks.storage.path) {
      try SortedList(keys, leaving: leaving, coming: coming, query.sort, new)
    }
  }

  private static func update(
    _ keys: [Int64], _ list: ListDifference, _ difference: TableDifference
  ) -> ResultsUpdate {
    var modifications: [ResultsUpdate.Modification] = []
    if !difference.modified.isEmpty {
      var columnSets: [Int64: Int] = [:]
      for object in difference.modified { columnSets[object.key] = object.columnSet }
      for position in SortedList.places(of: difference.modified.map(\.key), in: keys) {
        guard let columnSet = columnSets[keys[position]],
          let place = list.newPosition(ofOld: position)
        else { continue }
        modifications.append(
          .init(oldPosition: position, newPosition: place, columnSet: columnSet))
      }
    }
    return ResultsUpdate(
      deletions: list.deletions, insertions: list.insertions, modifications: modifications,
      difference)
  }
}

// MARK: Filters without a sort

extension ChangeSetTracker {
  /// What the changes do to the objects that match the filter, in the order of keys.
  private func filtered(
    _ keys: [Int64], _ filter: Predicate, _ new: Table, _ difference: TableDifference
  ) throws -> (Next, ResultsUpdate) {
    let deciding = filter.columnNames
    let decides = Self.sets(of: difference, with: deciding, new)
    let matcher = try RowMatcher(filter, new)
    let asked = difference.modified.filter { decides[$0.columnSet] }.map(\.key)
    let answers = try matcher.matches(asked)
    var removed = difference.deleted.compactMap { Self.index(of: $0.key, in: keys) }
    var added = zip(difference.inserted, try matcher.matches(difference.inserted.map(\.key)))
      .filter(\.1).map(\.0.key)
    var stayed: [(index: Int, columnSet: Int)] = []
    var next = 0
    for object in difference.modified {
      let index = Self.index(of: object.key, in: keys)
      var matches = index != nil
      if decides[object.columnSet] {
        matches = answers[next]
        next += 1
      }
      switch (index, matches) {
      case (nil, false): continue
      case (nil, true): added.append(object.key)
      case (let index?, false): removed.append(index)
      case (let index?, true): stayed.append((index, object.columnSet))
      }
    }
    // Each once, also where a damaged leaf has a key twice.
    removed = Set(removed).sorted()
    added.sort()
    let edit = ListEdit(keys, removing: removed, adding: added)
    let update = ResultsUpdate(
      deletions: removed, insertions: edit.insertions,
      modifications: stayed.map { object in
        let before = partitionPoint(0..<removed.count) { removed[$0] >= object.index }
        let key = keys[object.index]
        let behind = partitionPoint(0..<added.count) { added[$0] >= key }
        return .init(
          oldPosition: object.index, newPosition: object.index - before + behind,
          columnSet: object.columnSet)
      }, difference)
    return (.edited(edit), update)
  }

  /// The index of a key in an ascending list; nil when it is missing.
  private static func index(of key: Int64, in keys: [Int64]) -> Int? {
    let index = partitionPoint(0..<keys.count) { keys[$0] >= key }
    return index < keys.count && keys[index] == key ? index : nil
  }
}
