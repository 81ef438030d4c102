/// In a deep check: the notes and companions of tables, as far as the engine knows their content.
extension Checker {
  mutating func checkNotes(_ table: Catalogue.TableEntry, _ schema: TableSchema, _ all: Catalogue) {
    if let note = table.notes[DeclaredColumns.note],
      !ColumnNumbers.areValid(note, next: schema.nextColumnID)
    {
      report.problems.append(
        "table '\(table.name)': its note '\(DeclaredColumns.note)' does not list columns of it")
    }
    guard table.isCompanion, !Catalogue.isOwn(table.name) else { return }
    let owner = all.programTables.contains { Catalogue.isCompanion(table.name, of: $0.number) }
    if !owner {
      report.problems.append(
        "table '\(table.name.dropFirst())': the table that it keeps something for is not there")
    }
  }
}
