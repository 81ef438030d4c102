/// A value that statements of imports compare and store.
enum ModelValue: Hashable {
  case null
  case bool(Bool)
  case int(Int)
  case real(Double)
  /// Microseconds of the server's clock.
  case time(Int)
  case text(String)

  /// The text of a field in an answer; nil for null.
  var field: String? {
    switch self {
    case .null: nil
    case .bool(let value): value ? "t" : "f"
    case .int(let value), .time(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): value
    }
  }
}

/// What a statement computes, of a row or of all rows.
indirect enum ModelExpression {
  case value(ModelValue)
  case column(String)
  case call(String, [ModelExpression])
  case binary(String, ModelExpression, ModelExpression)
  case not(ModelExpression)
  case exists(ModelSelect)

  /// Whether it has one value for all rows together.
  var isAggregate: Bool {
    switch self {
    case .value, .column, .exists: false
    case .call(let name, let arguments):
      ["count", "sum", "max"].contains(name) || arguments.contains(where: \.isAggregate)
    case .binary(_, let left, let right): left.isAggregate || right.isAggregate
    case .not(let inner): inner.isAggregate
    }
  }
}

/// A selection from one table, or from none.
struct ModelSelect {
  enum RowLock { case none, share, exclusive }

  var items: [ModelExpression] = []
  var table: String?
  var condition: ModelExpression?
  var order: String?
  var rowLock = RowLock.none
}

/// A statement as the model runs it.
enum ModelStatement {
  enum Source {
    case values([[ModelExpression]])
    case select(ModelSelect)
  }

  /// What an insertion does about a row whose key is there.
  enum Conflict {
    case fails, skips
    /// Sets the columns `set` to the new row's values, if the rows differ in the columns `compared`. Changed
    /// rows are counted in one setting, equal ones in another.
    case updates(set: [String], compared: [String], counting: (String, equal: String))
  }

  case begin, commit, rollBack
  case savepoint, releaseSavepoint, rollBackToSavepoint
  case set(String, ModelValue)
  /// Makes the table of waiting rows, which only this transaction sees.
  case makeStage
  case insert(table: String, columns: [String], Source, Conflict, returns: Bool)
  /// Inserts the first waiting row of each new key, and answers with the places of the other selected rows.
  case insertNew(table: String, columns: [String], ModelSelect)
  case update(
    table: String, [(column: String, ModelExpression)], ModelExpression?,
    returning: [ModelExpression]
  )
  case delete(table: String, ModelExpression?)
  case select(ModelSelect)

  /// Whether it changes what others see when it runs outside a transaction.
  var changes: Bool {
    switch self {
    case .begin, .rollBack, .set, .select, .savepoint, .releaseSavepoint, .rollBackToSavepoint,
      .makeStage:
      false
    case .commit, .insert, .insertNew, .update, .delete: true
    }
  }
}
