import Base

/// The only verifier, for users, tests, crash tests and fuzzers: every reference is verified, no byte is
/// reached twice, keys are in order, counts are right, every column can be decoded and fits its type.
///
/// Thread rule: any thread, while the version is held.
package struct Checker {
  let roots: VersionRoots?
  let record: VersionRecord
  let blocks: BlockReader
  private var mapped: MappedRange
  var report: CheckReport
  /// Each block's start, end and description.
  var extents: [(start: UInt64, end: UInt64, what: String)] = []
  /// True when all redundant data is compared.
  let isDeep: Bool
  /// The tables of a newer version that was found sound, by number.
  let newer: [UInt32: Catalogue.TableEntry]
  /// In a deep check: the last keys of sound leaves, so that other versions need not read them again.
  var lastKeys: [NodeEntry: Int64]
  let isNewest: Bool
  /// True when the last keys of sound leaves are stored.
  private let notesLeaves: Bool
  /// The bytes of blocks that kept versions have and the newest lacks.
  var keptBlocks: [Range<Int>] = []
  /// The bytes of blocks of pending tables, which count as the newest version's.
  var pendingBlocks: [Range<Int>] = []

  /// Checks a version, those that it keeps, and both commit slots.
  ///
  /// - Parameters:
  ///   - gone: kept versions that were dropped meanwhile, and are not checked.
  ///   - withPending: false when the pending tables were changed meanwhile, and are not checked.
  ///   - held: returns the versions that are held now. If given, the check is deep: all redundant data is
  ///     compared, also in the older versions that can be read. Otherwise these are not checked.
  /// - Complexity: O(file).
  package static func run(
    _ record: VersionRecord, _ blocks: BlockReader, except gone: Set<UInt64> = [],
    withPending: Bool = true, held: (() throws -> [VersionRecord])? = nil
  ) -> CheckReport {
    var checker = Checker(record, blocks, isDeep: held != nil)
    checker.checkSlots()
    checker.checkTables()
    checker.checkExtents()
    checker.checkNamedVersions(except: gone, withPending: withPending)
    if let held {
      if withPending { checker.checkSpace(except: gone) }
      checker.checkOlderVersions(held)
    }
    return checker.report
  }

  /// Checks one version, without regard to the rest of the file.
  package static func runAlone(
    _ record: VersionRecord, _ blocks: BlockReader, isDeep: Bool
  ) -> CheckReport {
    var checker = Checker(record, blocks, isDeep: isDeep)
    checker.checkTables()
    checker.checkExtents()
    return checker.report
  }

  /// - Parameter newer: the check of a newer version of the file: parts shared with it are not checked again.
  init(
    _ record: VersionRecord, _ blocks: BlockReader, isDeep: Bool, after newer: Checker? = nil
  ) {
    self.record = record
    self.blocks = blocks
    mapped = MappedRange(blocks)
    self.isDeep = isDeep
    self.newer = Dictionary(
      (newer?.roots?.catalogue.tables ?? []).map { ($0.number, $0) }, uniquingKeysWith: { $1 })
    lastKeys = newer?.lastKeys ?? [:]
    isNewest = newer == nil
    notesLeaves = isDeep || record.hasHistory || newer?.notesLeaves == true
    report = CheckReport(version: record.version)
    report.isDeep = isDeep
    do {
      roots = try VersionRoots(record, blocks)
    } catch {
      roots = nil
      report.problems.append(Self.describe(error, "the catalogue"))
    }
    note(record.root, "the catalogue")
  }

  static func describe(_ error: any Error, _ what: String) -> String {
    switch error {
    case let error as BlockError:
      "\(what): block at offset \(error.offset), length \(error.length): \(error.what)"
    case let error as DecodingFailure: "\(what): \(error.what) (byte \(error.offset) of its block)"
    default: "\(what): \(error)"
    }
  }

  mutating func note(_ reference: BlockReference, _ what: String) {
    report.blocks += 1
    mapped.add(reference)
    extents.append((reference.offset, reference.offset &+ UInt64(reference.length), what))
  }

  // MARK: Slots

  private mutating func checkSlots() {
    do {
      var pages = try slotPages()
      // Another process may be writing a slot now: a problem counts if the slot stays the same.
      for _ in 0..<1000 {
        if slotProblems(pages).isEmpty { break }
        System.sleep(milliseconds: 1)
        let again = try slotPages()
        if again == pages { break }
        pages = again
      }
      let problems = slotProblems(pages)
      report.problems += problems
      if problems.isEmpty, let fallback = try Recovery.runAmongWriters(blocks.storage).fallback {
        report.problems.append(fallback)
      }
    } catch {
      report.problems.append("\(error)")
    }
  }

  private func slotPages() throws -> [UInt8] {
    var pages = [UInt8](repeating: 0, count: Layout.firstBlockOffset)
    _ = try pages.withUnsafeMutableBytes { try blocks.storage.read(into: $0, at: 0) }
    return pages
  }

  private func slotProblems(_ pages: [UInt8]) -> [String] {
    var problems: [String] = []
    for index in 0..<Layout.slotCount {
      let start = index * Layout.pageBytes
      pages.withUnsafeBytes { bytes in
        let page = UnsafeRawBufferPointer(rebasing: bytes[start..<start + Layout.pageBytes])
        switch CommitSlot.read(page) {
        case .valid:
          if !CommitSlot.restIsZero(page) {
            problems.append("slot \(index): bytes behind the slot are not zero")
          }
        case .empty, .temporary: break
        case .damaged(let reason): problems.append("slot \(index): \(reason)")
        case .otherFormat(let format): problems.append("slot \(index): format \(format)")
        case .foreign: problems.append("slot \(index): it is not a commit slot")
        }
      }
    }
    return problems
  }

  // MARK: Tables

  mutating func checkTables() {
    guard let roots else { return }
    if let reference = roots.catalogue.history {
      note(reference, "the history")
      do {
        for part in try roots.historyBlocks(blocks).dropFirst() {
          note(part, "a part of the history")
        }
        _ = try roots.history(blocks)
      } catch {
        report.problems.append(Self.describe(error, "the history"))
      }
    }
    for table in roots.catalogue.tables {
      if !table.isCompanion { report.tables += 1 }
      do {
        note(table.schema, "the schema of table '\(table.name)'")
        let bytes = try blocks.block(table.schema, end: record.end)
        let schema = try TableSchema(decoding: bytes)
        if schema.nextColumnID == .max {
          report.problems.append("table '\(table.name)': it has no number left for another column")
        }
        if isDeep { checkNotes(table, schema, roots.catalogue) }
        let before = report.problems.count
        try checkTree(table, schema)
        checkIndexes(table, schema, problemsBefore: before)
      } catch {
        report.problems.append(Self.describe(error, "table '\(table.name)'"))
      }
      if table.nextKey == .max {
        report.problems.append("table '\(table.name)': it has no key left for another object")
      }
    }
    if roots.catalogue.nextTableNumber == .max {
      report.problems.append("the catalogue: it has no number left for another table")
    }
    if record.version >= VersionRecord.lastVersion {
      report.problems.append("version \(record.version) is the last that there can be")
    }
  }

  /// Visits a tree node by node; a damaged part does not prevent the check of the others.
  private mutating func checkTree(_ table: Catalogue.TableEntry, _ schema: TableSchema) throws {
    guard table.root.level > 0 else { return }
    let tree = TreeReader(blocks: blocks, root: table.root, end: record.end)
    var pending = PendingBlocks(
      from: table.root.entry, level: table.root.level, end: record.end)
    var lastKey: Int64?
    let isRead = newer[table.number]?.schema == table.schema
    while let (entry, level) = next(&pending, "table '\(table.name)': its tree") {
      let isOverlay = level == 0 && entry.reference.isOverlay
      if isOverlay, let overlay = try? blocks.overlay(entry, end: record.end) {
        // Limits the work for a damaged file in which many overlays name one cluster.
        pending.spend(overlay.base.reference.length)
        note(overlay.base.reference, "a cluster of table '\(table.name)'")
        for older in overlay.references.dropFirst() {
          pending.spend(older.length)
          note(older, "an overlay of table '\(table.name)'")
        }
      }
      let what = isOverlay ? "an overlay" : level == 0 ? "a cluster" : "a tree node"
      note(entry.reference, "\(what) of table '\(table.name)'")
      do {
        if level == 0 {
          try checkLeaf(entry, table, schema, &lastKey, isRead: isRead)
        } else {
          pending.add(below: try tree.node(entry, level: level))
        }
      } catch {
        let what = level == 0 ? "the leaf of keys from \(entry.firstKey)" : "a tree node"
        report.problems.append(
          Self.describe(
            error, "table '\(table.name)', \(what) at offset \(entry.reference.offset)"))
      }
    }
  }

  /// The next block of a tree; nil after the last. Reports a tree with more bytes than the version has, and
  /// ends it.
  mutating func next(
    _ pending: inout PendingBlocks, _ what: String
  ) -> (entry: NodeEntry, level: Int)? {
    do {
      return try pending.next()
    } catch {
      report.problems.append("\(what) refers to more bytes than the file has")
      return nil
    }
  }

  /// - Parameter isRead: true when the leaves of the newer version's table were read by the same columns.
  private mutating func checkLeaf(
    _ entry: NodeEntry, _ table: Catalogue.TableEntry, _ schema: TableSchema,
    _ lastKey: inout Int64?,
    isRead: Bool
  ) throws {
    func problem(_ what: String) {
      report.problems.append(
        "table '\(table.name)', leaf at offset \(entry.reference.offset): \(what)")
    }
    if isRead, let last = lastKeys[entry] {
      if let lastKey, entry.firstKey <= lastKey { problem("its keys are not above the last one's") }
      if last >= table.nextKey { problem("a key is not below the table's next key") }
      lastKey = last
      return
    }
    let before = report.problems.count
    let leaf = try Leaf(entry, blocks, end: record.end)
    let cluster = leaf.cluster
    report.clusters += 1
    if !table.isCompanion { report.objects += leaf.rowCount }
    try cluster.validate()
    try leaf.overlay?.validateColumns()
    let base = leaf.overlay?.base ?? entry
    if !cluster.hasZeroPadding() { problem("its padding is not zero") }
    if try cluster.keys().offset(0) != 0 { problem("its first key is not the tree's") }
    let (_, overflow) = base.firstKey.addingReportingOverflow(
      try cluster.keys().offset(cluster.rowCount - 1))
    let keys = try leaf.keys()
    let last = keys.key(leaf.rowCount - 1)
    if keys.key(0) != entry.firstKey { problem("its first key is not the tree's") }
    if let lastKey, entry.firstKey <= lastKey { problem("its keys are not above the last one's") }
    if overflow || last >= table.nextKey { problem("a key is not below the table's next key") }
    lastKey = last
    // Removed columns are included: a new column with such a number would read their values.
    var highest =
      cluster.columnCount > 0 ? try cluster.column(at: cluster.columnCount - 1).id : nil
    if let overlay = leaf.overlay, let last = overlay.highestColumnID {
      highest = max(highest ?? 0, last)
    }
    if let highest, highest >= schema.nextColumnID {
      problem("it has column \(highest), and the next column gets number \(schema.nextColumnID)")
    }
    for (column, identifier) in zip(schema.columns, schema.columnIDs) {
      let values = try leaf.column(id: identifier)
      if !column.isNullable, try leaf.statistics(id: identifier).nullCount > 0 {
        problem("column '\(column.name)' may not be null, and is")
      }
      // Every other type rejects some bytes.
      guard column.type != .data else { continue }
      if let stored = values.unchanged {
        try stored.validate(as: column.reading)
      } else {
        for row in 0..<leaf.rowCount { _ = try values.value(row, as: column.reading) }
      }
    }
    if isDeep {
      report.values += leaf.rowCount * schema.columns.count
      for what in try ReadingCheck(leaf, keys, schema).problems() { problem(what) }
    }
    if notesLeaves, isNewest || isRead, report.problems.count == before { lastKeys[entry] = last }
    if isDeep { blocks.forget(entry, end: record.end) }
  }
}
