import Engine

/// The notes of imports in tables.
package enum ImportNotes {
  /// The contradictions in the notes of a version's tables, for `sheaf check`.
  ///
  /// Skips a table that cannot be opened, which the engine's check reports.
  ///
  /// - Parameter deep: whether to compare the notes with each other too: inputs with their lists, and those
  ///   in a companion with their keys.
  package static func problems(_ snapshot: Snapshot, deep: Bool = false) -> [String] {
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
      for note in [GuessedColumns.note, SurplusColumns.note] {
        guard let bytes = table.note(note), !GuessedColumns.areValid(bytes) else { continue }
        problems.append("table '\(name)': its note '\(note)' is damaged")
      }
      if deep { problems += contradictions(table, snapshot).map { "table '\(name)': \($0)" } }
    }
    return deep ? problems + unreadableRuns(snapshot) : problems
  }

  private static func unreadableRuns(_ snapshot: Snapshot) -> [String] {
    var problems: [String] = []
    do {
      try snapshot.ownTable(RunEntry.purpose)?.forEachRow { row in
        if RunEntry(row) == nil {
          problems.append("run \(row.key) of what the file knows of its imports cannot be read")
        }
      }
    } catch {
      problems.append("what the file knows of its imports cannot be read: \(error)")
    }
    return problems
  }

  private static func contradictions(_ table: Table, _ snapshot: Snapshot) -> [String] {
    var problems: [String] = []
    for (note, isComplete) in [(Checkpoint.note, false), (Checkpoint.completeNote, true)] {
      let checkpoints = table.note(note).flatMap(Checkpoint.decode) ?? []
      for checkpoint in checkpoints where checkpoint.isComplete != isComplete {
        problems.append(
          "its note '\(note)' has the input '\(checkpoint.input.path)', which did "
            + "\(isComplete ? "not " : "")come to its end")
      }
    }
    for note in [GuessedColumns.note, SurplusColumns.note] {
      guard let bytes = table.note(note),
        !ColumnNumbers.areValid(bytes, next: table.schema.nextColumnID)
      else { continue }
      problems.append("its note '\(note)' does not list columns of it")
    }
    do {
      try snapshot.companion(InputMemory.purpose, of: table)?.forEachRow { row in
        if !InputMemory.fits(row) {
          problems.append(
            "object \(row.key) of what it remembers of inputs has another input's key")
        }
      }
    } catch {
      problems.append("what it remembers of inputs cannot be read: \(error)")
    }
    return problems
  }
}
