import Base

/// A transaction's changes to the kept versions.
extension TransactionState {
  /// The kept versions, with the transaction's changes.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  func history() throws -> History {
    try use {
      if let knownHistory { return knownHistory }
      storedHistory = try VersionRoots(base, catalogue).storedHistory(parts.blocks)
      knownHistory = storedHistory.history
      return storedHistory.history
    }
  }

  func changeHistory(_ change: (inout History) throws -> Void) throws {
    let before = try history()
    var history = before
    try change(&history)
    guard history != before else { return }
    knownHistory = history
    historyIsChanged = true
  }

  /// Keeps the version that the transaction began from.
  ///
  /// - Parameter isAutomatic: true if the version is dropped when the limit is exceeded.
  func keepBase(isAutomatic: Bool) throws {
    try changeHistory { history in
      if let place = history.place(of: base.version) {
        if !isAutomatic { history.kept[place].isAutomatic = false }
        return
      }
      keepBase(isAutomatic: isAutomatic, in: &history)
    }
  }

  /// Adds the version that the transaction began from to a history that does not have it.
  func keepBase(isAutomatic: Bool, in history: inout History) {
    var base = base
    base.hasPending = false
    var made = catalogue.origin
    // It is older by an unknown time, but was the newest until it got a tag.
    if !isAutomatic, made == VersionOrigin() {
      made = VersionOrigin(secondsSince1970: Int64(System.secondsSince1970))
    }
    // It is the newest: only the version of this transaction follows it.
    history.kept.append(KeptRoot(record: base, made: made, isAutomatic: isAutomatic))
  }

  /// Writes a history in place of the base's.
  func write(_ history: History) throws {
    let old = catalogue.history
    let written = try storedHistory.write(history, mostInPart: host.settings.keptInPart) {
      block, isPart in
      // Parts stay for many versions.
      try isPart
        ? writer.append(cluster: block, checksum: Checksum.of(block)) : writer.append(node: block)
    }
    catalogue.history = written.reference
    if let old { try writer.drop(old) }
    for part in written.dropped { try writer.drop(part) }
  }

  /// Writes the history if it has changed, and sets the origin of the new version.
  func sealHistory() throws {
    if historyIsChanged, let history = knownHistory { try write(history) }
    if catalogue.history == nil {
      catalogue.origin = VersionOrigin()
    } else if !keepsOrigin, visibleTablesAreChanged || hasChangedVisibleTable {
      // A version in which readers see the same tables, such as one that only keeps others or has a batch of
      // a pending table, has the time of its predecessor: at any moment since then these were the newest.
      catalogue.origin = VersionOrigin(
        secondsSince1970: Int64(System.secondsSince1970), what: madeBy)
    } else if !keepsOrigin, catalogue.origin == VersionOrigin() {
      // The first version that others are kept beside: what readers see is older by an unknown time.
      catalogue.origin = VersionOrigin(secondsSince1970: Int64(System.secondsSince1970))
    }
  }

  /// Notes that the catalogue of tables that readers see is changed.
  func noteVisibleChange() { (catalogueIsChanged, visibleTablesAreChanged) = (true, true) }

  private var hasChangedVisibleTable: Bool {
    editors.contains { !Catalogue.isOwn($0.key) && $0.value.isChanged }
  }

  /// The newest kept version, if it was kept automatically, and readers see the same tables in the version
  /// that the transaction began from. Call it before any change to these.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  func keptLikeBase() throws -> UInt64? {
    guard let newest = try history().kept.last, newest.isAutomatic else { return nil }
    let old = try catalogue(of: newest.record.version).catalogue
    let isSame =
      old.schemaVersion == catalogue.schemaVersion && old.steps(to: catalogue).isEmpty
    return isSame ? newest.record.version : nil
  }

  /// Stores the list of the new version's kept versions for the next transaction.
  func noteKept(by record: VersionRecord) {
    guard record.hasHistory else { return }
    host.memory.keptRoots[record.root] =
      knownHistory?.records(in: record)
      ?? host.memory.keptRoots[base.root].map { known in
        // The pending tables of the previous version are also this one's.
        known.map { old in
          guard old.version == base.version else { return old }
          return VersionRecord(version: record.version, root: old.root, end: record.end)
        }
      }
  }

  // MARK: Marks of the version

  /// True when the version must be marked as having keys of several columns.
  var hasCompoundKeys: Bool {
    copiesCompoundKeys || catalogue.hasCompoundKeys(after: base)
      || pendingTables.contains(where: \.catalogue.hasCompoundKeys)
  }

  /// True when the version must be marked as having parts of a history.
  var hasParts: Bool {
    catalogue.history != nil && (copiesParts || base.hasParts || storedHistory.hasParts)
  }
}
