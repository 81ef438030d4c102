import Engine

/// The names and types of the columns of all inputs together, found by reading them once, since a server's
/// table needs its types before the first row.
struct TypeScan {
  /// The facts found about a column.
  private struct Found {
    let name: String
    var classes: TypeSet
    /// Nil: all values so far are null.
    var reading: Reading?
    /// True when an input has decimal commas.
    var hasCommas: Bool
    /// True when an input has points before three digits, and does not show what they mean.
    var hasOpenPoints: Bool

    /// As where an input has both: `1.234` may be 1234.
    var isUnclear: Bool { hasCommas && hasOpenPoints }
    var type: ColumnType { isUnclear ? .text : reading?.type ?? .text }
  }

  private var columns: [Found] = []
  /// Notes about columns of an input, with their names.
  private var hints: [(column: String, note: String)] = []
  private let options: ImportOptions
  private let appliesRules: Bool

  /// - Parameter appliesRules: whether rules compare values of the types that are found.
  init(_ options: ImportOptions, appliesRules: Bool) {
    self.options = options
    self.appliesRules = appliesRules
  }

  /// Names and types, in the inputs' order.
  var types: [(name: String, type: ColumnType)] { columns.map { ($0.name, $0.type) } }

  /// Why columns are text.
  ///
  /// - Parameter known: the columns that the table has.
  func notes(beside known: Set<String>) -> [String] {
    let made = columns.filter { !known.contains($0.name) }
    let texts = Set(made.filter { $0.type == .text }.map(\.name))
    let unclear = made.filter(\.isUnclear).map {
      "column '\($0.name)': it is text, since \(DecimalMarks.doubt(where: "inputs"))"
    }
    let empty = made.filter { $0.reading == nil }.map { "'\($0.name)'" }
    let notes = hints.filter { texts.contains($0.column) }.map(\.note) + unclear
    if empty.isEmpty { return notes }
    return notes + [
      "no input has a value of \(empty.count == 1 ? "column" : "the columns") "
        + empty.prefix(20).joined(separator: ", ") + (empty.count > 20 ? ", ..." : "")
        + ", text now: with --types NAME:TYPE the table is made for values to come"
    ]
  }

  /// Reads an input.
  ///
  /// - Throws: the errors of reading and of the header; `ImportError.interrupted`.
  mutating func add(_ file: InputFile, _ opened: InputPlanner.Opened, _ threads: PipelineThreads)
    throws
  {
    let match = try TableMatch(opened, options, table: nil, appliesRules: appliesRules)
    var types = match.types
    let known = match.plannedColumns.map(\.strictType)
    // Only the records themselves show how many surplus fields there are.
    if !known.contains(nil), options.ragged != .extend || !file.canBeReadAgain {
      add(match.plannedColumns.map(\.name), types, match, file.name)
      return
    }
    let plan = ImportPlan(file, opened, match, options, encodes: true)
    let work = Pipeline.Work(
      opened.splitter, plan, options, isSmall: file.isSmall, threads, SerialTimes())
    let options = options
    try Pipeline.run(work) {
      let classifier = ColumnClassifier(plan)
      return { try classifier.build($0) }
    } writing: { queue in
      while let columns = try queue.next() {
        types.add(columns)
        if options.shouldStop() { throw ImportError.interrupted }
      }
    }
    let own = match.plannedColumns.map(\.name)
    let extras = 0..<max(0, types.states.count - own.count)
    add(own + extras.map(match.extras.name), types, match, file.name)
  }

  private mutating func add(
    _ names: [String], _ types: ColumnTypes, _ match: TableMatch, _ file: String
  ) {
    let openPoints = match.marks.openPoints
    for (position, (name, state)) in zip(names, types.states).enumerated() {
      let isEmpty = state.strictType == nil && state.classes.isEmpty
      let reading = isEmpty ? nil : state.isUnclearAtFirst ? .text : state.reading
      let own = Found(
        name: name, classes: state.classes, reading: reading,
        hasCommas: reading?.notation?.patterns.contains { $0.hasSuffix(",5") } ?? false,
        hasOpenPoints: openPoints.contains(position))
      if own.reading?.type == .text { hints += Self.reasons(name, state, match, file) }
      guard let index = columns.firstIndex(where: { $0.name == name }) else {
        columns.append(own)
        continue
      }
      columns[index].classes.formUnion(own.classes)
      let common = Self.common(columns[index], own)
      if let common, let before = columns[index].reading, let now = own.reading,
        common.type == .text, before.type != .text, now.type != .text
      {
        let (before, now) = (Self.shown(before), Self.shown(now))
        hints.append(
          (
            name,
            "\(file): column '\(name)' is text: its values are \(now), and \(before) in the inputs before"
          ))
      }
      columns[index].reading = common
      columns[index].hasCommas = columns[index].hasCommas || own.hasCommas
      columns[index].hasOpenPoints = columns[index].hasOpenPoints || own.hasOpenPoints
    }
  }

  /// Notes that tell why a column of an input is text.
  private static func reasons(
    _ name: String, _ state: ColumnTypes.State, _ match: TableMatch, _ file: String
  ) -> [(column: String, note: String)] {
    let widening = ImportReport.ColumnReport(
      name: name, type: state.type, notation: nil, nulls: 0, widened: state.widening)
    let notes =
      match.columnNotes.filter { $0.column == name }.map(\.note)
      + [state.noteOfAmbiguity(name), widening.wideningNote].compactMap(\.self)
    return notes.map { (name, "\(file): \($0)") }
  }

  private static func shown(_ reading: Reading) -> String {
    reading.type.name + (reading.notation.map { " (\($0))" } ?? "")
  }

  /// The reading for the values of both.
  private static func common(_ one: Found, _ other: Found) -> Reading? {
    guard let first = one.reading else { return other.reading }
    guard let second = other.reading else { return first }
    // Each input may have its own spellings; their meanings have one type.
    if first.type == second.type { return first }
    if first.notation == nil, second.notation == nil {
      return Reading(one.classes.union(other.classes).inferredType ?? .text)
    }
    return .text
  }
}
