import Base

/// The one verifier, for people, tests, crash tests and fuzzers: every reference verified, no byte
/// reached twice, keys in order, counts true, every column decodable and of its type.
///
/// Thread rule: any thread, while the version is held.
package struct Checker {
  let roots: VersionRoots?
  let record: VersionRecord
  let blocks: BlockReader
  var report: CheckReport
  /// Where each block lies: start, end, what.
  var extents: [(start: UInt64, end: UInt64, what: String)] = []
  /// Whether everything is compared that is said twice.
  let isDeep: Bool
  /// The tables of a newer version that was found sound, by their numbers.
  let newer: [UInt32: Catalogue.TableEntry]
  /// In a deep check: the last keys of leaves that were found sound, so that other versions need
  /// not read them again.
  var lastKeys: [NodeEntry: Int64]
  let isNewest: Bool
  /// Of leaves that were found sound, the last keys are noted.
  private let notesLeaves: Bool
  /// The bytes of blocks that kept versions have, and the newest has not.
  var keptBlocks: [Range<Int>] = []
  /// The same of what is pending beside the newest, which counts as its own.
  var pendingBlocks: [Range<Int>] = []

  /// Checks a version, those that it keeps, and both commit slots.
  ///
  /// - Parameters:
  ///   - gone: kept versions that were let go meanwhile, and are not looked at.
  ///   - withPending: false when what is pending beside the version was changed meanwhile, and is not looked
  ///     at.
  ///   - held: the versions that somebody holds just now; has everything compared that is
  ///     said twice, in older versions that can be read too. Without it they are left alone.
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

  /// Checks one version, whatever else is in the file.
  package static func runAlone(
    _ record: VersionRecord, _ blocks: BlockReader, isDeep: Bool
  ) -> CheckReport {
    var checker = Checker(record, blocks, isDeep: isDeep)
    checker.checkTables()
    checker.checkExtents()
    return checker.report
  }

  /// - Parameter newer: the check of a newer version of the file: what both have is not looked at again.
  init(
    _ record: VersionRecord, _ blocks: BlockReader, isDeep: Bool, after newer: Checker? = nil
  ) {
    self.record = record
    self.blocks = blocks
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
    extents.append((reference.offset, reference.offset &+ UInt64(reference.length), what))
  }

  // MARK: Slots

  private mutating func checkSlots() {
    do {
      var pages = try slotPages()
      // Another process may be writing a slot just now: what stays as it is, is a problem.
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
        case .empty: break
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

  /// Visits a tree node by node; a damaged part does not keep the rest from being checked.
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
        // A cluster that many overlays named would keep it busy.
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

  /// The next block of a tree; nil behind the last, and where there are more than there can be,
  /// which is said.
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

  /// - Parameter isRead: the leaves of the newer version's table were read as this one's are.
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
    let base = leaf.overlay?.base ?? entry
    // No checksum covers the padding.
    let bytes = try blocks.extent(base.reference, end: record.end)
    if !bytes.suffix(ClusterFormat.padding).allSatisfy({ $0 == 0 }) {
      problem("its padding is not zero")
    }
    if try cluster.keys().offset(0) != 0 { problem("its first key is not the tree's") }
    let (_, overflow) = base.firstKey.addingReportingOverflow(
      try cluster.keys().offset(cluster.rowCount - 1))
    let keys = try leaf.keys()
    let last = keys.key(leaf.rowCount - 1)
    if keys.key(0) != entry.firstKey { problem("its first key is not the tree's") }
    if let lastKey, entry.firstKey <= lastKey { problem("its keys are not above the last one's") }
    if overflow || last >= table.nextKey { problem("a key is not below the table's next key") }
    lastKey = last
    // Also of columns that were removed: another that got the number would read what they have left.
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
      // Only data reads any bytes.
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
