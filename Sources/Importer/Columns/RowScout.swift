import Base
import Engine

/// The results of a parser's lookup of a chunk's rows in one version of the table; newer versions may exist
/// by now.
struct ScoutedRows: Sendable {
  let version: UInt64
  /// For each row, the object with its key in that version, or -1: no searched run has the key, but others
  /// may.
  let found: [Int64]
  let lookedThrough: [BlockReference]
  /// The codes of those keys in the index.
  let codes: [Int64]
  /// The number of keys looked up there.
  let lookedUp: Int
  /// For each row, whether it would not change its object; empty: not compared.
  let isSame: [Bool]
  /// The rule of that comparison.
  let rule: ReplacementRule?
}

/// The version of the table in which parsers look up keys; the writer provides it.
///
/// Thread rule: any thread.
final class SharedKeyView: @unchecked Sendable {
  // @unchecked: `lock` guards the state.
  private let lock = Lock()
  private var present: KeyView?

  /// The newest version; nil: none may be used.
  var view: KeyView? {
    get { lock.withLock { present } }
    set {
      // Released outside the lock, as it may be the last reference to its version.
      let old = lock.withLock {
        let old = present
        present = newValue
        return old
      }
      withExtendedLifetime(old) {}
    }
  }
}

/// A parser's lookup of its rows in the table, which saves the writer that work: it looks up each key and,
/// when rows with known keys replace objects, finds whether they would change anything.
///
/// Thread rule: confined; each parser thread has its own.
final class RowScout {
  private let shared: SharedKeyView
  private let conflict: ConflictRule
  private let scout = KeyScout()

  init(_ shared: SharedKeyView, _ conflict: ConflictRule) {
    self.shared = shared
    self.conflict = conflict
  }

  /// Looks up some rows; nil when there is no version to use, or its key is another one.
  ///
  /// - Throws: `EngineError.damaged`.
  func look(_ rows: KeyedRows, _ plan: ImportPlan) throws -> ScoutedRows? {
    guard let view = shared.view, rows.rowCount > 0 else { return nil }
    let schema = view.table.schema
    guard schema.keyColumns.map({ schema.columnIDs[$0] }) == plan.keyColumns.map(plan.identifier)
    else { return nil }
    var found = [Int64](repeating: -1, count: rows.rowCount)
    var codes = [Int64](repeating: 0, count: rows.rowCount)
    let keys = (0..<rows.rowCount).map(rows.key)
    let lookedUp = try rows.withKeys { base in
      try keys.withUnsafeBufferPointer { keys in
        try found.withUnsafeMutableBufferPointer { found in
          try codes.withUnsafeMutableBufferPointer {
            try scout.find(view, base: base, keys: keys, into: found, codes: $0)
          }
        }
      }
    }
    var isSame: [Bool] = []
    var rule: ReplacementRule?
    if !conflict.policy.leavesOut {
      let own = ReplacementRule(schema, plan, columnCount: rows.columnCount, conflict)
      isSame = try compare(rows, found, own, view)
      rule = own
    }
    scout.limitMapping(view, bytes: 0)
    return ScoutedRows(
      version: view.version, found: found, lookedThrough: view.largeRuns, codes: codes,
      lookedUp: lookedUp, isSame: isSame, rule: rule)
  }

  private func compare(
    _ rows: KeyedRows, _ found: [Int64], _ rule: ReplacementRule, _ view: KeyView
  ) throws -> [Bool] {
    var known = (0..<rows.rowCount).filter { found[$0] >= 0 }
    if known.isEmpty { return [] }
    if !zip(known, known.dropFirst()).allSatisfy({ found[$0] <= found[$1] }) {
      known.sort { (found[$0], $0) < (found[$1], $1) }
    }
    var isSame = [Bool](repeating: false, count: rows.rowCount)
    let columns = rule.changingColumns(view.table.schema)
    try rows.withBase { memory, _ in
      try ObjectSweep(view.table, columns: columns).run(known.map { found[$0] }) { place, present in
        let row = known[place]
        guard let present else { return true }
        let fields = rows.spans[row * rows.columnCount..<(row + 1) * rows.columnCount]
        isSame[row] = !columns.indices.contains {
          rule.changes(present.field($0), columns[$0], fields, memory)
        }
        return true
      }
    }
    return isSame
  }
}
