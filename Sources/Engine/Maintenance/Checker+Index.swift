extension Checker {
  /// Checks the indexes: their blocks, that every object is found by its primary key and in every secondary
  /// index, and that no two objects have the same primary key.
  ///
  /// - Parameter before: the number of problems before the table's own tree was checked.
  mutating func checkIndexes(
    _ table: Catalogue.TableEntry, _ schema: TableSchema, problemsBefore before: Int
  ) {
    checkKeyIndex(table, schema, problemsBefore: before)
    var table = table
    do {
      try table.checkIndexes(schema)
    } catch {
      report.problems.append(Self.describe(error, "table '\(table.name)'"))
      return
    }
    for index in table.valueIndexes {
      for run in index.runs { checkRun(run, table, sharesCodes: true) }
    }
    guard report.problems.count == before, looksUpEntries(table) else { return }
    let tree = TreeReader(blocks: blocks, root: table.root, end: record.end)
    for index in table.valueIndexes {
      guard let place = schema.columnIDs.firstIndex(of: index.column) else { continue }
      let name = schema.columns[place].name
      do {
        let check = IndexCheck(index, name: name, tree)
        report.problems += try check.run().map { "table '\(table.name)': \($0)" }
        try countEntries(index.runs, check.removeOutdated)
      } catch {
        report.problems.append(
          Self.describe(error, "the index of column '\(name)' of table '\(table.name)'"))
      }
    }
  }

  private mutating func checkKeyIndex(
    _ table: Catalogue.TableEntry, _ schema: TableSchema, problemsBefore before: Int
  ) {
    if schema.keyColumns.isEmpty {
      if !table.index.isEmpty {
        report.problems.append("table '\(table.name)': it has an index without a key")
      }
      return
    }
    for run in table.index { checkRun(run, table, sharesCodes: false) }
    // Unreadable parts were reported: looking up each object in them would report each again.
    guard report.problems.count == before, looksUpEntries(table) else { return }
    do {
      try checkKeys(table, schema)
    } catch {
      report.problems.append(Self.describe(error, "the keys of table '\(table.name)'"))
    }
  }

  /// Visits a run block by block; a damaged part does not prevent the check of the others.
  ///
  /// - Parameter sharesCodes: whether entries of one code may be in several leaves.
  private mutating func checkRun(_ run: IndexRun, _ table: Catalogue.TableEntry, sharesCodes: Bool)
  {
    let index = IndexBlocks(blocks, end: record.end)
    var pending = PendingBlocks(
      from: run.root.entry, level: run.root.level, end: record.end)
    var last: IndexEntry?
    while let (entry, level) = next(&pending, "table '\(table.name)': an index") {
      let what = "table '\(table.name)', the index at offset \(entry.reference.offset)"
      note(entry.reference, "the index of table '\(table.name)'")
      do {
        if level > 0 {
          pending.add(below: try index.node(entry, level: level))
          continue
        }
        let leaf = try index.leaf(entry)
        if let problem = leaf.inconsistency() { report.problems.append("\(what): \(problem)") }
        if let last, sharesCodes ? leaf[0] <= last : leaf[0].code <= last.code {
          report.problems.append("\(what): its entries are not above those of the leaf before")
        }
        for row in 0..<leaf.rowCount where !(1..<max(table.nextKey, 1)).contains(leaf[row].object) {
          report.problems.append("\(what): row \(row) names an object that was never there")
          break
        }
        last = leaf[leaf.rowCount - 1]
      } catch {
        report.problems.append(Self.describe(error, what))
      }
    }
    if let last, last.code > run.lastCode {
      report.problems.append("table '\(table.name)': an index has codes beyond its last one")
    }
  }

  // MARK: Keys

  private mutating func checkKeys(
    _ table: Catalogue.TableEntry, _ schema: TableSchema
  ) throws {
    let tree = TreeReader(blocks: blocks, root: table.root, end: record.end)
    let check = IndexCheck(keyOf: table, schema, tree)
    report.problems += try check.run().map { "table '\(table.name)': \($0)" }
    try countEntries(table.index, check.removeOutdated)
  }

  /// Returns whether to look up objects in the indexes of a table. In older versions only a deep check does,
  /// and only where objects or indexes differ from a newer version.
  private func looksUpEntries(_ table: Catalogue.TableEntry) -> Bool {
    (isNewest || isDeep) && !isKnown(table)
  }

  /// Returns whether a newer version has the same objects and indexes, which were compared there.
  private func isKnown(_ table: Catalogue.TableEntry) -> Bool {
    guard let other = newer[table.number] else { return false }
    return other.schema == table.schema && other.root == table.root && other.index == table.index
      && other.valueIndexes == table.valueIndexes
  }

  /// In a deep check of the newest version: looks up the object of each entry, and counts the entries without
  /// one.
  private mutating func countEntries(
    _ runs: [IndexRun], _ removeOutdated: (inout [IndexEntry]) throws -> Void
  ) throws {
    guard isDeep, isNewest else { return }
    let index = IndexBlocks(blocks, end: record.end)
    var entries: [IndexEntry] = []
    func look() throws {
      report.indexEntries += entries.count
      report.outdatedEntries += entries.count
      try removeOutdated(&entries)
      report.outdatedEntries -= entries.count
      entries.removeAll(keepingCapacity: true)
    }
    for run in runs {
      var cursor = EntryCursor(run, index)
      try cursor.seek(IndexEntry(code: run.firstCode, object: .min))
      while let entry = try cursor.next() {
        entries.append(entry)
        if entries.count == 1 << 16 { try look() }
      }
    }
    try look()
  }
}
