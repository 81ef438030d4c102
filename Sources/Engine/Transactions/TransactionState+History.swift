import Base

/// What a transaction changes of the versions that are kept.
extension TransactionState {
  /// The versions that are kept, with the transaction's changes.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  func history() throws -> History {
    try use {
      if let knownHistory { return knownHistory }
      var history = History()
      if let reference = catalogue.history {
        history = try parts.blocks.withCopy(of: reference, end: base.end) {
          try History(decoding: $0, of: base.version)
        }
      }
      knownHistory = history
      return history
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
  /// - Parameter isAutomatic: it may be let go when there are more than are to be kept.
  func keepBase(isAutomatic: Bool) throws {
    let made = catalogue.origin
    var base = base
    base.hasPending = false
    try changeHistory { history in
      if let place = history.place(of: base.version) {
        if !isAutomatic { history.kept[place].isAutomatic = false }
        return
      }
      // No version comes after it but the one that is being made.
      history.kept.append(KeptRoot(record: base, made: made, isAutomatic: isAutomatic))
    }
  }

  /// Writes what is kept, if that has changed, and what is to be said of the version that is being made.
  func sealHistory() throws {
    if historyIsChanged, let history = knownHistory {
      let old = catalogue.history
      catalogue.history = history.isEmpty ? nil : try writer.append(node: history.encode())
      if let old { try writer.drop(old) }
    }
    if catalogue.history == nil {
      catalogue.origin = VersionOrigin()
    } else if !keepsOrigin, catalogueIsChanged || editors.values.contains(where: \.isChanged) {
      // A version that keeps others, and has the same tables, is of the time of the one before.
      catalogue.origin = VersionOrigin(
        secondsSince1970: Int64(System.secondsSince1970), what: madeBy)
    }
  }

  /// Leaves to the next transaction which versions the one that was made keeps.
  func noteKept(by record: VersionRecord) {
    guard record.hasHistory else { return }
    host.memory.keptRoots[record.root] =
      knownHistory?.records(in: record)
      ?? host.memory.keptRoots[base.root].map { known in
        // What was pending beside the version before is pending beside this one.
        known.map { old in
          guard old.version == base.version else { return old }
          return VersionRecord(version: record.version, root: old.root, end: record.end)
        }
      }
  }
}
