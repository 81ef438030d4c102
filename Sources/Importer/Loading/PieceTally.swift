import Engine

/// Facts gathered about an input's records on their way to a server.
struct PieceTally {
  private var tolerances = Tolerances()
  private var nulls: [Int]
  private var unfinished: SourcePosition?
  private let plan: ImportPlan
  private let refusesUnfinished: Bool

  init(_ plan: ImportPlan, _ options: ImportOptions) {
    self.plan = plan
    nulls = [Int](repeating: 0, count: plan.columns.count)
    refusesUnfinished = options.requiresFinalNewline
  }

  /// - Throws: `ImportError.unfinished`.
  mutating func add(_ piece: CopyPiece) throws(ImportError) {
    tolerances.add(piece.tolerances)
    for (column, count) in piece.nulls.enumerated() { nulls[column] += count }
    guard let start = piece.unfinished else { return }
    unfinished = start
    if refusesUnfinished { throw .unfinished(position: start) }
  }

  /// Adds them to the report of the input.
  func fill(_ report: inout ImportReport, _ file: InputFile, _ opened: InputPlanner.Opened) {
    let unfinishedNote = unfinished.flatMap {
      $0.line < 2
        ? nil
        : "the last record, at line \($0.line), has no "
          + "line end as the others do: the input may have been cut off"
    }
    let notes = tolerances.notes + [opened.source.change, unfinishedNote].compactMap(\.self)
    report.notes += notes.map { "\(file.name): \($0)" }
    report.columns = zip(plan.columns, nulls).map { column, nulls in
      .init(
        name: column.name, type: column.strictType ?? .text, notation: column.strictNotation,
        nulls: nulls, widened: nil)
    }
    var own = ImportReport.FileReport(path: file.path, resumedAt: report.resumedAt)
    own.add(report, bytesRead: report.bytesRead)
    own.columns = report.columns
    own.dialect = report.dialect
    own.findings = opened.findings
    own.notes = notes
    report.files = [own]
  }
}
