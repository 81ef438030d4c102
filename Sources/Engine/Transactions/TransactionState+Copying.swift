import Base

/// Taking over a version that was copied from another file.
extension TransactionState {
  /// Makes the transaction's version a given one, whose blocks are in the file already.
  ///
  /// No other change may be made. Like restored trees, these blocks are not in the map of pages, which the
  /// next transaction rebuilds.
  ///
  /// - Parameters:
  ///   - history: the kept versions for the catalogue.
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
