import TestSupport

@testable import Importer

/// What an import with `--publish end` makes of a table, in dictionaries, when another writer changes
/// the table meanwhile.
struct ModelNight {
  typealias Fields = [String]
  /// By the key, which is the first field.
  typealias Objects = [String: Fields]

  static let allColumns = ["id", "a", "b", "n"]

  let policy: ConflictPolicy
  let newerThan: Bool
  let ignoresBlanks: Bool
  let deletesMissing: Bool
  let columns: [String]
  let records: [Fields]

  func place(_ name: String) -> Int? { columns.firstIndex(of: name) }

  /// The table that the import alone makes.
  func applied(to before: Objects) -> Objects {
    var objects = before
    for record in records {
      let old = objects[record[0]]
      if old != nil, policy == .skip { continue }
      var new = policy == .update ? old ?? [] : []
      if new.isEmpty { new = Self.allColumns.map { _ in "" } }
      for (place, name) in Self.allColumns.enumerated() {
        guard let own = self.place(name) else { continue }
        if let old, ignoresBlanks, record[own].isEmpty {
          new[place] = old[place]
        } else {
          new[place] = record[own]
        }
      }
      if let old, isOlder(new, than: old, place("n").map { record[$0] } ?? "") { continue }
      objects[record[0]] = new
    }
    return objects
  }

  /// Whether `--newer-than` keeps `old`. `new` is what the record would make of it, `said` the record's
  /// `n`.
  private func isOlder(_ new: Fields, than old: Fields, _ said: String) -> Bool {
    guard newerThan, new != old else { return false }
    if place("n") == nil || said.isEmpty && ignoresBlanks { return true }
    guard let said = Int(said) else { return true }
    return Int(old[3]).map { said <= $0 } ?? false
  }

  private func isOlder(_ own: Fields, than theirs: Fields) -> Bool {
    guard newerThan else { return false }
    guard let own = Int(own[3]) else { return true }
    return Int(theirs[3]).map { own <= $0 } ?? false
  }

  /// Whether the record does not say all of its object's fields.
  private var isByField: Bool { policy == .update || ignoresBlanks }

  /// The merged table; nil if it is refused.
  func merged(_ before: Objects, _ theirs: Objects, _ own: Objects) -> Objects? {
    let keys = Set(records.map { $0[0] })
    var result = own
    for key in Set(before.keys).union(theirs.keys) {
      let (was, now, new) = (before[key], theirs[key], own[key])
      if deletesMissing, was != nil, now == was, !keys.contains(key) { result[key] = nil }
      if was == now { continue }
      guard let now else {
        if new == was || deletesMissing && !keys.contains(key) { result[key] = nil }
        continue
      }
      guard let new else {
        result[key] = now
        continue
      }
      guard let was else {
        if policy == .skip || isOlder(new, than: now) {
          result[key] = now
        } else if isByField {
          result[key] = zip(new, now).map { $0.isEmpty ? $1 : $0 }
        }
        continue
      }
      if deletesMissing, !keys.contains(key) { return nil }
      if new == was || isOlder(new, than: now) {
        result[key] = now
      } else if isByField {
        result[key] = new.indices.map { new[$0] == was[$0] ? now[$0] : new[$0] }
      }
    }
    return result
  }

  // MARK: At random

  private static func field(_ name: String, _ random: inout SplitMix64) -> String {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: ""
    case let number: name == "n" ? "\(number)" : "\(name)\(number)"
    }
  }

  static func row(
    _ key: Int, _ columns: [String], _ random: inout SplitMix64
  ) -> Fields {
    columns.map { $0 == "id" ? "k\(key)" : field($0, &random) }
  }

  static func random(_ random: inout SplitMix64) -> ModelNight {
    let policy = [ConflictPolicy.update, .replace, .skip].randomElement(using: &random) ?? .update
    let columns =
      [allColumns, ["id", "a"], ["id", "n", "b"]].randomElement(using: &random) ?? allColumns
    let records = (0..<60).map { _ in
      row(Int.random(in: 0..<90, using: &random), columns, &random)
    }
    let changes = policy != .skip
    return ModelNight(
      policy: policy,
      newerThan: changes && columns.contains("n") && Int.random(in: 0..<4, using: &random) == 0,
      ignoresBlanks: changes && Int.random(in: 0..<4, using: &random) == 0,
      deletesMissing: Int.random(in: 0..<3, using: &random) == 0, columns: columns, records: records
    )
  }
}
