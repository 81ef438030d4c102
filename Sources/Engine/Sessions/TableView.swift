/// A table in the current state of a session: in its version, or in its open transaction.
///
/// Thread rule: confined to the session's thread or queue.
final class TableView {
  enum Source {
    case version(Table)
    case transaction(TableEditor)
  }

  let source: Source
  /// Stores the leaf of the object that was last read in a transaction.
  private var reader: ObjectReader?

  init(_ source: Source) { self.source = source }

  /// Moves to an object of a transaction and calls `body` with its reader; returns nil when there is none.
  private func reading<Result>(
    _ editor: TableEditor, _ key: Int64, _ body: (inout ObjectReader) throws -> Result
  ) throws -> Result? {
    // Removed meanwhile, so that it has a single owner and nothing is copied.
    var current = reader ?? ObjectReader(editor)
    reader = nil
    defer { reader = current }
    return try current.go(to: key) ? try body(&current) : nil
  }

  var leaves: any LeafSource {
    switch source {
    case .version(let table): table
    case .transaction(let editor): editor
    }
  }

  var schema: TableSchema {
    switch source {
    case .version(let table): table.schema
    case .transaction(let editor): editor.schema
    }
  }

  var name: String {
    switch source {
    case .version(let table): table.name
    case .transaction(let editor): editor.name
    }
  }

  /// Differs between any two states of the table in one transaction.
  var changeCount: Int { leaves.changeCount }

  /// True when the transaction has deleted the table.
  var isGone: Bool {
    switch source {
    case .version: false
    case .transaction(let editor): editor.isDeleted
    }
  }

  func count() throws -> Int { try leaves.objectCount }

  func row(forKey key: Int64) throws -> Row? {
    switch source {
    case .version(let table): try table.row(forKey: key)
    case .transaction(let editor): try reading(editor, key) { try $0.row() } ?? nil
    }
  }

  func key(at position: Int) throws -> Int64? {
    switch source {
    case .version(let table): try table.key(at: position)
    case .transaction(let editor): try editor.row(at: position)?.key
    }
  }

  func contains(key: Int64) throws -> Bool {
    switch source {
    case .version(let table): try table.position(ofKey: key) != nil
    case .transaction(let editor): try reading(editor, key) { _ in true } ?? false
    }
  }

  /// The value of an object's column; nil when there is no such object.
  ///
  /// - Throws: `EngineError.noSuchColumn`.
  func value(forKey key: Int64, column: String) throws -> Value? {
    switch source {
    case .version(let table): return try table.value(forKey: key, column: column)
    case .transaction(let editor):
      let index = try editor.indices(of: [column])[0]
      return try reading(editor, key) { try $0.value(index) }
    }
  }

  func key(forPrimaryKey values: [Value]) throws -> Int64? {
    switch source {
    case .version(let table): return try table.row(forPrimaryKey: values)?.key
    case .transaction(let editor): return try editor.find(values)
    }
  }
}

/// A table, identified by its number, which renaming does not change.
struct TableIdentity: Sendable {
  let number: UInt32
  /// The name of the table when it was found, for messages.
  let name: String
  /// The mark of the transaction that created the table. If that is rolled back, another process may assign
  /// the number to another table.
  var maker: TransactionMark?
}
