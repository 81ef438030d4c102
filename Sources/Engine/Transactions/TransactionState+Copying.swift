import Base

/// Taking over what was copied from another file.
extension TransactionState {
  /// Has the version that the transaction makes be a given one: its blocks lie in the file already.
  ///
  /// Nothing else may be changed. Like trees that were restored, these are not in the map of pages, which is
  /// found anew by the next transaction.
  ///
  /// - Parameters:
  ///   - history: what the catalogue says of kept versions.
  ///   - original: the version that was copied; its number is above that of the one from which the
  ///     transaction began.
  ///   - end: no block of it, nor of one that it keeps, lies behind.
  /// - Throws: `EngineError.invalidArgument`.
  func become(
    _ copied: Catalogue, _ history: History, of original: VersionRecord, end: UInt64
  ) throws {
    let version = original.version
    guard version > base.version, editors.isEmpty, !isChanged else {
      throw EngineError.invalidArgument(
        "version \(version) cannot follow version \(base.version)")
    }
    catalogue = copied
    knownHistory = history
    keepsOrigin = true
    catalogueIsChanged = true
    restoredEnd = UInt64(Layout.pages(holding: Int(clamping: end)) * Layout.pageBytes)
    number = version
    copiesCompoundKeys = copied.hasCompoundKeys(after: original)
  }
}
