import Base

/// Pending tables: built beside the visible ones, over several transactions, and published by replacing
/// these.
///
/// A pending table begins equal to the visible one: its catalogue refers to the same blocks. Their pages are
/// frozen (`SpaceMap.freeze`), since a block that one of the two tables drops may still be in the other. When
/// the pending table is published or dropped, the map of pages is dropped too, and the next transaction makes
/// a new one by a walk.
extension TransactionState {
  /// The pending table of a name; nil when there is none.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  func pending(_ name: String) throws -> PendingTables? {
    if let known = pendingTables.first(where: { $0.root.name == name }) { return known }
    guard let root = try history().pending.first(where: { $0.name == name }) else { return nil }
    return try use {
      guard let roots = try VersionRoots.pending(root, in: base, parts.blocks) else { return nil }
      let pending = PendingTables(root, roots.catalogue, isNew: false)
      pendingTables.append(pending)
      return pending
    }
  }

  /// Begins a pending table that is equal to the visible one, or an empty one if there is no visible one.
  ///
  /// - Parameters:
  ///   - columns: the columns of a table that does not exist yet; nil for an existing one.
  ///   - what: the description of the import run that builds it.
  /// - Throws: `EngineError.tableExists`, `.noSuchTable`, `.tooLarge`, `.invalidSchema`, `.transactionEnded`.
  func beginPending(
    _ name: String, columns: [Column]?, keys: [String], what: String
  ) throws -> PendingTables {
    let history = try history()
    guard !history.pending.contains(where: { $0.name == name }) else {
      throw EngineError.busy(path: host.path, reason: "something is pending for table '\(name)'")
    }
    guard history.pending.count < History.mostPending else {
      throw EngineError.tooLarge(
        what: "the number of pending tables", limit: "\(History.mostPending)")
    }
    return try use {
      try checkName(name)
      let begun = VersionOrigin(secondsSince1970: Int64(System.secondsSince1970), what: what)
      var own = Catalogue()
      let number: UInt32
      var old: BlockReference?
      var fresh: TableEditor?
      if let columns {
        guard catalogue.place(named: name) == nil else { throw EngineError.tableExists(name: name) }
        let table = try newTable(name, columns, keys: keys)
        catalogueIsChanged = true
        number = table.entry.number
        own.add(table.entry)
        fresh = try makeEditor(table.entry, table.schema, isNew: true)
      } else {
        guard let table = catalogue.programTable(name) else {
          throw EngineError.noSuchTable(name: name, known: catalogue.programTables.map(\.name))
        }
        guard editors[name]?.isChanged != true else {
          throw EngineError.invalidArgument("table '\(name)' was changed in this transaction")
        }
        number = table.number
        for entry in [table] + catalogue.companions(of: number) { own.insert(entry) }
        own.nextTableNumber = catalogue.nextTableNumber
        try freeze(own)
        old = try writer.append(node: own.encode())
      }
      let root = PendingRoot(
        table: number, name: name, since: base.version, begun: begun, base: old)
      let pending = PendingTables(root, own, isNew: true)
      if let fresh { pending.editors[name] = fresh }
      pendingTables.append(pending)
      return pending
    }
  }

  private func freeze(_ tables: Catalogue) throws {
    var blocks: [Range<Int>] = []
    try VersionRoots(base, tables).forEachBlock(parts.blocks) { reference, kind, _ in
      if kind != .catalogue, let bytes = reference.bytes(within: base.end) { blocks.append(bytes) }
    }
    writer.freeze(blocks)
  }

  /// The editor of the pending table, for reading and changing it.
  func editor(of pending: PendingTables) throws -> TableEditor {
    try editor(named: pending.root.name, in: pending)
  }

  private func editor(named name: String, in pending: PendingTables) throws -> TableEditor {
    try use {
      if let editor = pending.editors[name] { return editor }
      guard let table = pending.catalogue.table(named: name) else {
        throw EngineError.noSuchTable(
          name: name, known: pending.catalogue.programTables.map(\.name))
      }
      let editor = try open(table)
      pending.editors[name] = editor
      return editor
    }
  }

  func companion(
    _ name: String, in pending: PendingTables, _ columns: [Column]?, keys: [String]
  ) throws -> TableEditor? {
    try use {
      if pending.catalogue.place(named: name) == nil {
        guard let columns else { return nil }
        // Its number is not used by another table of the file, nor by one created before this is published.
        let table = try newTable(name, columns, keys: keys)
        catalogueIsChanged = true
        pending.catalogue.insert(table.entry)
        pending.editors[name] = try makeEditor(table.entry, table.schema, isNew: true)
      }
      return try editor(named: name, in: pending)
    }
  }

  /// Writes the catalogues of pending tables and enters them in the history.
  func sealPending() throws {
    for pending in pendingTables where pending.isChanged {
      for editor in pending.editors.values where editor.isChanged {
        guard let place = pending.catalogue.place(number: editor.number) else { continue }
        pending.catalogue.tables[place] = try editor.seal()
      }
      pending.catalogue.nextTableNumber = catalogue.nextTableNumber
      var root = pending.root
      root.root = try writer.append(node: pending.catalogue.encode())
      root.objects = pending.catalogue.table(number: root.table)?.root.count ?? 0
      if !pending.isNew { try writer.drop(pending.root.root) }
      try changeHistory { history in
        history.pending.removeAll { $0.table == root.table }
        history.pending.append(root)
      }
    }
  }

  // MARK: Ending

  /// The changes that others have made to a table since its pending table was begun, in words; nil when there
  /// are none.
  func change(of root: PendingRoot) throws -> String? {
    try use {
      let old = try VersionRoots.pending(root, in: base, parts.blocks, isBase: true)?.catalogue
      guard let old, let then = old.table(number: root.table) else {
        if catalogue.place(named: root.name) == nil { return nil }
        return "a table '\(root.name)' was created"
      }
      guard let now = catalogue.table(number: root.table) else {
        return "table '\(root.name)' was deleted"
      }
      if now.name != then.name { return "table '\(then.name)' was renamed to '\(now.name)'" }
      let isSame =
        !Catalogue.isChanged(
          then, now, old.companions(of: root.table), catalogue.companions(of: root.table))
        && then.nextKey == now.nextKey
      return isSame ? nil : "table '\(root.name)' was changed"
    }
  }

  /// Replaces the visible table by the pending one. Its trees are adopted unchanged, so it costs a block or
  /// two.
  ///
  /// Call it before any other change, except to tables of the file itself.
  ///
  /// - Parameter overChanges: whether to replace the table even if it has changed since the pending one was
  ///   begun.
  /// - Throws: `EngineError.noSuchTable` when there is no pending table, `.busy` when the table has changed,
  ///   `.damaged`, `.transactionEnded`.
  func publishPending(_ name: String, overChanges: Bool) throws {
    guard let pending = try pending(name) else {
      throw EngineError.noSuchTable(name: name, known: try history().pending.map(\.name))
    }
    if !overChanges, let change = try change(of: pending.root) {
      throw EngineError.busy(
        path: host.path,
        reason:
          "\(change) by somebody else since version \(pending.root.since), from which the pending "
          + "table was made")
    }
    try use {
      for editor in [pending.root.name] + Array(pending.editors.keys) { editors[editor] = nil }
      let names = Set(pending.catalogue.tables.map(\.name))
      for old in catalogue.companions(of: pending.root.table) where !names.contains(old.name) {
        if let place = catalogue.place(number: old.number) { catalogue.remove(at: place) }
        editors[old.name] = nil
      }
      for table in pending.catalogue.tables { try put(table, end: base.end) }
      noteVisibleChange()
      try forget(pending.root)
    }
  }

  /// Drops the pending table of a name.
  ///
  /// - Returns: false when there was none.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  func abandonPending(_ name: String) throws -> Bool {
    guard let root = try history().pending.first(where: { $0.name == name }) else { return false }
    try forget(root)
    return true
  }

  private func forget(_ root: PendingRoot) throws {
    pendingTables.first { $0.root.table == root.table }?.end()
    pendingTables.removeAll { $0.root.table == root.table }
    try changeHistory { history in history.pending.removeAll { $0.table == root.table } }
    // Only a walk can determine which of the two tables still has a block that both had.
    losesMap = true
  }
}
