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
  ///   - version: the number of the version, above the one that the transaction began from.
  ///   - end: no block of it, nor of one that it keeps, lies behind.
  /// - Throws: `EngineError.invalidArgument`.
  func become(_ copied: Catalogue, _ history: History, version: UInt64, end: UInt64) throws {
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
  }
}
