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
  }

  private var columns: [Found] = []
  private let options: ImportOptions

  init(_ options: ImportOptions) { self.options = options }

  /// Names and types, in the inputs' order.
  var types: [(name: String, type: ColumnType)] {
    columns.map { ($0.name, $0.reading?.type ?? .text) }
  }

  /// Reads an input.
  ///
  /// - Throws: the errors of reading and of the header; `ImportError.interrupted`.
  mutating func add(_ file: InputFile, _ opened: InputPlanner.Opened, _ threads: PipelineThreads)
    throws
  {
    let match = try TableMatch(opened, options, table: nil)
    var types = match.types
    let known = match.plannedColumns.map(\.strictType)
    // Only the records themselves show how many surplus fields there are.
    if !known.contains(nil), options.ragged != .extend || !file.canBeReadAgain {
      add(match.plannedColumns.map(\.name), types)
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
    add(own + extras.map(match.extras.name), types)
  }

  private mutating func add(_ names: [String], _ types: ColumnTypes) {
    for (name, state) in zip(names, types.states) {
      let isEmpty = state.strictType == nil && state.classes.isEmpty
      let own = Found(name: name, classes: state.classes, reading: isEmpty ? nil : state.reading)
      guard let index = columns.firstIndex(where: { $0.name == name }) else {
        columns.append(own)
        continue
      }
      columns[index].classes.formUnion(own.classes)
      columns[index].reading = Self.common(columns[index], own)
    }
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
