import Engine

/// The results for people, on standard output.
struct TunePrinter {
  private let results: TuneResults
  private let folder: TuneFolder

  init(_ results: TuneResults, _ folder: TuneFolder) {
    self.results = results
    self.folder = folder
  }

  func print(to output: BufferedOutput) throws {
    // The cells are formatted already; the types only align numbers to the right.
    let table = TextTable(
      [
        Column("batch size", .int), Column("durability", .text), Column("time", .int),
        Column("range", .int), Column("file", .int), Column("compacted", .int),
        Column("written", .int), Column("peak memory", .int),
      ], output, terminalWidth: nil, isRich: TerminalPolicy.standardOutput.isRich)
    for summary in results.summaries { try table.add(Self.cells(summary)) }
    try table.end()
    var lines: [String] = [""]
    if let recommendation = TuneRecommendation(results) {
      lines.append("recommended: \(recommendation.headline)")
      for reason in recommendation.reasons { lines += Self.wrapped(reason) }
      lines.append("")
    }
    for note in results.notes { lines += Self.wrapped("note: " + note) }
    let rounds = HumanFormat.count(results.runs.count, "run", "runs")
    lines.append(
      "medians of \(rounds) in all; \(HumanFormat.count(results.records, "record", "records")), "
        + "\(HumanFormat.size(results.inputBytes)) of CSV; databases were in "
        + "\(folder.work), which is gone")
    if !results.isComplete { lines.append("ended early: these are the runs before that") }
    lines.append(
      "written: \(folder.path)/\(TuneFolder.pageName), \(TuneFolder.jsonName), "
        + TuneFolder.csvName)
    try output.write(lines.map { StandardError.escaped($0) + "\n" }.joined())
  }

  private static func wrapped(_ text: String) -> [String] {
    HelpText.lines(of: text, width: 96).enumerated().map { ($0 == 0 ? "- " : "  ") + $1 }
  }

  static func cells(_ summary: TuneSummary) -> [String] {
    let mark = summary.isScaled ? "≈ " : ""
    return [
      summary.combination.batchSize.shown, summary.combination.durability.rawValue,
      mark + TuneFormat.seconds(summary.seconds.median),
      mark + TuneFormat.seconds(summary.seconds.minimum) + " – "
        + TuneFormat.seconds(summary.seconds.maximum),
      mark + HumanFormat.size(summary.fileBytes.median),
      mark + HumanFormat.size(summary.compactedBytes.median),
      mark + HumanFormat.size(summary.bytesWritten.median),
      HumanFormat.size(summary.peakMemory.median),
    ]
  }
}
