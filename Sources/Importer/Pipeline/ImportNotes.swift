import Engine

/// What imports keep with the tables.
package enum ImportNotes {
  /// What is wrong with the notes of a version's tables, for `sheaf check`.
  ///
  /// A table that cannot be opened is passed over: the engine's own check says why.
  package static func problems(_ snapshot: Snapshot) -> [String] {
    var problems: [String] = []
    for place in snapshot.tablePlaces {
      guard let table = try? snapshot.table(at: place) else { continue }
      let name = table.name
      for note in [Checkpoint.note, Checkpoint.completeNote] {
        guard let bytes = table.note(note), Checkpoint.decode(bytes) == nil else { continue }
        problems.append(
          "table '\(name)': its note '\(note)', how far imports have come, cannot be read; "
            + "--resume is refused, and every other import puts it right")
      }
      if let bytes = table.note(GuessedColumns.note), !GuessedColumns.areValid(bytes) {
        problems.append("table '\(name)': its note '\(GuessedColumns.note)' is damaged")
      }
    }
    return problems
  }
}
