/// A pending table and its companions, in a transaction.
///
/// Thread rule: the transaction's thread.
final class PendingTables {
  /// The state at the beginning of the transaction.
  let root: PendingRoot
  /// A catalogue of these tables alone.
  var catalogue: Catalogue
  /// By table name.
  var editors: [String: TableEditor] = [:]
  /// True when this transaction has begun it.
  let isNew: Bool

  init(_ root: PendingRoot, _ catalogue: Catalogue, isNew: Bool) {
    self.root = root
    self.catalogue = catalogue
    self.isNew = isNew
  }

  var isChanged: Bool { isNew || editors.values.contains(where: \.isChanged) }

  func has(_ editor: TableEditor) -> Bool { editors.values.contains { $0 === editor } }

  func end() {
    for editor in editors.values { editor.isEnded = true }
    editors = [:]
  }
}
