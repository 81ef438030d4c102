import Base

/// Adopts a version that was copied from another file.
extension TransactionState {
  /// Makes a given version, whose blocks are in the file already, the transaction's version.
  ///
  /// No other change may be made. Like restored trees, these blocks are not in the map of pages, which the
  /// next transaction rebuilds.
  ///
  /// - Parameters:
  ///   - history: the kept versions for the catalogue.
  ///   - original: the version that was copied; its number is above that of the transaction's base.
  ///   - end: an offset after all blocks of the version and of those that it keeps.
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
    copiesParts = history.fillsPart
  }
}
