import Base

/// The tables that return to a kept version.
///
/// Thread rule: a plain value, `Sendable`.
public enum RestoreScope: Sendable, Equatable {
  /// The only table that has changed since; refused when several have.
  case onlyChanged
  /// This table; all others stay as they are.
  case table(String)
  /// All of them.
  case all
}

/// The outcome of returning to a kept version.
///
/// Thread rule: a plain value, `Sendable`.
public struct RestoreResult: Sendable, Equatable {
  /// The kept version whose tables are the newest again.
  public let restored: UInt64
  /// The previously newest version. It is kept: restoring it undoes this.
  public let before: UInt64
  /// The new version.
  public let version: UInt64
  /// The tables that went back, each with the changes that were undone.
  public let tables: [TableStep]
}

extension Database {
  /// Makes a kept version the newest again, with all of its tables or some. An import's notes about its
  /// inputs return with the table, so that the inputs can be imported again.
  ///
  /// The previously newest version is kept, so that this can be undone in the same way. Readers of other
  /// versions are not affected; the next transaction of this handle rebuilds the map of free pages.
  ///
  /// - Parameters:
  ///   - name: the version. Nil: the newest kept version whose objects or columns differ from the present
  ///     ones; if there is none, the newest one with notes about other inputs.
  ///   - scope: the tables that return.
  ///   - passesOver: whether an unnamed version is not meant, such as one with half of an import.
  ///   - what: the description of the new version; see `WriteTransaction.describe(_:)`.
  /// - Complexity: O(tables); objects are neither read nor written.
  /// - Throws: `EngineError.noSuchVersion`, `.noSuchTable`; `.otherChanges` when several tables have changed
  ///   and the scope is `onlyChanged`, or the schema's version has changed and the scope is not `all`;
  ///   `.unchanged` when nothing differs, or the name means the newest version; the errors of `write`.
  @discardableResult
  public func restore(
    _ name: VersionName? = nil, _ scope: RestoreScope = .onlyChanged,
    passingOver passesOver: (UInt64) throws -> Bool = { _ in false }, describedAs what: String = ""
  ) throws -> RestoreResult {
    let transaction = try beginWrite()
    let state = transaction.state
    let before = transaction.baseVersion
    let version: UInt64
    let tables: [TableStep]
    do {
      version = try state.version(of: name, scope, passesOver)
      tables = try state.checkRestoring(version, scope)
      try transaction.describe(what)
      try state.keepBase(isAutomatic: true)
      try RestoreNote.add(tables.map(\.name), restored: version, transaction)
      switch scope {
      case .all: try state.restore(version, tables: nil)
      case .table(let name): try state.restore(version, tables: [name])
      case .onlyChanged: try state.restore(version, tables: tables.map(\.name))
      }
      // Old versions are dropped last, since the restored version may be one of them.
      let limit = try transaction.keptVersionsLimit
      if limit > 0 { try state.changeHistory { $0.letGo(beyond: limit) } }
    } catch {
      transaction.rollBack()
      throw error
    }
    let made = try transaction.commit(durability: .full)
    return RestoreResult(restored: version, before: before, version: made, tables: tables)
  }
}

extension TransactionState {
  /// Finds the kept version that a name means.
  fileprivate func version(
    of name: VersionName?, _ scope: RestoreScope, _ passesOver: (UInt64) throws -> Bool
  ) throws -> UInt64 {
    let history = try history()
    func missing(_ name: VersionName) -> EngineError {
      .noSuchVersion(
        name: name.description, newest: base.version, kept: history.kept.map(\.record.version))
    }
    switch name {
    case nil:
      // A repeated import may have changed only the notes about its input.
      for ofObjectsAlone in [true, false] {
        for root in history.kept.reversed()
        where try !passesOver(root.record.version)
          && !steps(since: root.record.version, scope, ofObjectsAlone: ofObjectsAlone).isEmpty
        {
          return root.record.version
        }
      }
      throw EngineError.unchanged(path: host.path)
    case .number(let number):
      if number == base.version { throw EngineError.unchanged(path: host.path) }
      return number
    case .tag(let tag)?:
      guard let place = history.place(tagged: tag) else { throw missing(.tag(tag)) }
      return history.kept[place].record.version
    case .time(let moment)?:
      // This version was the newest at that moment already, so a job that had ended before is not undone.
      if let made = catalogue.origin.dateTime, made <= moment {
        throw EngineError.unchanged(path: host.path)
      }
      let root = history.kept.last { $0.made.dateTime.map { $0 <= moment } ?? false }
      guard let root else { throw missing(.time(moment)) }
      return root.record.version
    }
  }

  /// The changes of a scope's tables since a kept version.
  private func steps(
    since version: UInt64, _ scope: RestoreScope, ofObjectsAlone: Bool = false
  ) throws -> [TableStep] {
    let old = try catalogue(of: version).catalogue
    let steps = old.steps(to: catalogue, ofObjectsAlone: ofObjectsAlone)
    guard case .table(let name) = scope else { return steps }
    guard let number = (old.programTable(name) ?? catalogue.programTable(name))?.number else {
      let known = Set(old.programTables.map(\.name) + catalogue.programTables.map(\.name))
      throw EngineError.noSuchTable(name: name, known: known.sorted())
    }
    let now = catalogue.table(number: number)?.name
    return steps.filter { $0.name == name || $0.name == now }
  }

  /// Returns the steps that a restoration will undo.
  fileprivate func checkRestoring(_ version: UInt64, _ scope: RestoreScope) throws -> [TableStep] {
    let old = try catalogue(of: version).catalogue
    let steps = try steps(since: version, scope)
    let schema =
      old.schemaVersion == catalogue.schemaVersion
      ? [] : ["the schema has version \(catalogue.schemaVersion), and had \(old.schemaVersion)"]
    if scope != .all, !schema.isEmpty || (scope == .onlyChanged && steps.count > 1) {
      throw EngineError.otherChanges(
        path: host.path, since: version, changes: steps.map(\.description) + schema)
    }
    if steps.isEmpty, schema.isEmpty { throw EngineError.unchanged(path: host.path) }
    return steps
  }
}
