import Base
import Engine

/// The results as a page: one HTML file that is also XML, without scripts and external resources.
///
/// Every number of an experiment has, beside its text for people, its path in `results.json` (`data-key`) and
/// its value there (`data-value`), so that a check can compare the two files.
struct TunePage {
  /// The beginning of the file, by which an earlier one is recognized.
  static let beginning =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    + "<meta name=\"generator\" content=\"sheaf tune"

  private let results: TuneResults
  private let summaries: [TuneSummary]
  private let recommendation: TuneRecommendation?

  init(_ results: TuneResults) {
    self.results = results
    summaries = results.summaries
    recommendation = TuneRecommendation(results)
  }

  var text: String {
    Self.beginning + ", sheaf \(Version.number)\"/>\n" + head + "<body>\n<main>\n" + heading
      + answer + charts + table + conditions + runs + "</main>\n</body>\n</html>\n"
  }

  private var name: String {
    System.name(of: results.settings.input)
  }

  private var head: String {
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      + "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      + "<link rel=\"icon\" href=\"data:,\"/>\n"
      + "<title>Batch sizes for \(Markup.escaped(name))</title>\n"
      + "<style>\n\(TuneStyle.sheet)\n</style>\n</head>\n"
  }

  private var heading: String {
    let day = results.date.prefix(10)
    return "<header>\n<h1>Batch sizes for \(Markup.escaped(name))</h1>\n<p class=\"lead\">"
      + "\(HumanFormat.count(results.records, "record", "records")), "
      + "\(HumanFormat.size(results.inputBytes)) of CSV, imported "
      + "\(HumanFormat.count(results.runs.count, "time", "times")) by sheaf \(Version.number) on "
      + "<time datetime=\"\(results.date)\">\(day)</time>.</p>\n"
      + (results.isComplete
        ? "" : "<p class=\"lead\">Ended early: these are the runs before that.</p>\n")
      + "</header>\n"
  }

  private var answer: String {
    guard let recommendation else { return "" }
    let combination = recommendation.main.chosen.combination
    return "<section class=\"answer\" data-batch-size=\"\(combination.batchSize.word)\" "
      + "data-durability=\"\(combination.durability.rawValue)\">\n<h2>Recommended</h2>\n"
      + "<p class=\"size\">\(Markup.escaped(recommendation.headline.capitalizedFirst))</p>\n<ul>\n"
      + recommendation.reasons.map(Self.reason).joined()
      + "</ul>\n<p class=\"note\">The rule: \(TuneRecommendation.rule). Which durability is needed "
      + "is no matter of speed; the recommendation is for <code>"
      + "\(combination.durability.rawValue)</code>.</p>\n</section>\n"
  }

  /// A reason whose subject, up to the colon, is emphasized.
  private static func reason(_ text: String) -> String {
    guard let colon = text.firstIndex(of: ":") else { return "<li>\(Markup.escaped(text))</li>\n" }
    let subject = Markup.element("strong", "", Markup.escaped(String(text[...colon])))
    return "<li>\(subject)\(Markup.escaped(String(text[text.index(after: colon)...])))</li>\n"
  }

  private var charts: String {
    "<h2>What was measured</h2>\n<div class=\"charts\">\n"
      + TuneCharts(results, summaries, recommendation).figures + "</div>\n"
      + (summaries.contains(where: \.isScaled)
        ? "<p class=\"note\">Hollow markers: measured on a part of the input and estimated for "
          + "all.</p>\n" : "")
  }

  // MARK: Tables

  private static let columns: [(label: String, isWord: Bool)] = [
    ("batch size", false), ("durability", true), ("time", false), ("range", false),
    ("file", false), ("compacted", false), ("written", false), ("peak memory", false),
  ]

  private var table: String {
    var text =
      "<h2>The numbers</h2>\n<p class=\"note\">Medians. Time is that of the whole process, from its "
      + "start to its end; file and compacted are the database's size before and after "
      + "<code>sheaf compact</code>.</p>\n<table class=\"summary\" role=\"table\">\n"
      + "<thead role=\"rowgroup\"><tr role=\"row\">"
    for column in Self.columns {
      text +=
        "<th role=\"columnheader\" scope=\"col\"\(column.isWord ? " class=\"word\"" : "")>"
        + "\(column.label)</th>"
    }
    text += "</tr></thead>\n<tbody role=\"rowgroup\">\n"
    for (index, summary) in summaries.enumerated() { text += row(index, summary) }
    return text + "</tbody>\n</table>\n"
  }

  private func row(_ index: Int, _ summary: TuneSummary) -> String {
    let cells = TunePrinter.cells(summary)
    let isChosen = recommendation?.main.chosen.combination == summary.combination
    let numbers: [(key: String, json: JSONValue)?] = [
      ("batchSize", summary.combination.batchSize.json),
      ("durability", .string(summary.combination.durability.rawValue)),
      ("seconds.median", .double(summary.seconds.median)), nil,
      ("fileBytes.median", .int(summary.fileBytes.median)),
      ("compactedBytes.median", .int(summary.compactedBytes.median)),
      ("bytesWritten.median", .int(summary.bytesWritten.median)),
      ("peakMemory.median", .int(summary.peakMemory.median)),
    ]
    // A rule between batch sizes, none between the durabilities of one.
    let isFirst =
      index == 0 || summaries[index - 1].combination.batchSize != summary.combination.batchSize
    let classes = [isFirst ? "first" : nil, isChosen ? "chosen-row" : nil].compactMap { $0 }
    var text =
      classes.isEmpty
      ? "<tr role=\"row\">" : "<tr role=\"row\" class=\"\(classes.joined(separator: " "))\">"
    for (position, column) in Self.columns.enumerated() {
      let tag = position == 0 ? "th" : "td"
      var attributes =
        position == 0 ? "role=\"rowheader\" scope=\"row\"" : "role=\"cell\""
      attributes += " data-label=\"\(column.label)\""
      if column.isWord { attributes += " class=\"word\"" }
      var content = Markup.escaped(cells[position])
      if let number = numbers[position] {
        attributes +=
          " data-key=\"summary.\(index).\(number.key)\" data-value=\"\(Self.text(number.json))\""
      } else {
        attributes += " class=\"range-text\""
        content = range(index, summary)
      }
      text += Markup.element(tag, attributes, content)
    }
    return text + "</tr>\n"
  }

  private func range(_ index: Int, _ summary: TuneSummary) -> String {
    let ends = [("min", summary.seconds.minimum), ("max", summary.seconds.maximum)]
    let mark = summary.isScaled ? "≈ " : ""
    return ends.map { name, value in
      Markup.element(
        "span",
        "data-key=\"summary.\(index).seconds.\(name)\" data-value=\"\(Self.text(.double(value)))\"",
        mark + TuneFormat.seconds(value))
    }.joined(separator: " – ")
  }

  /// A value as `results.json` writes it, texts without their quotes.
  static func text(_ value: JSONValue) -> String {
    if case .string(let text) = value { return Markup.escaped(text) }
    return String(decoding: value.line.dropLast(), as: UTF8.self)
  }

  /// Every run, as in `results.csv`.
  private var runs: String {
    var text =
      "<details>\n<summary>All \(HumanFormat.count(results.runs.count, "run", "runs"))</summary>\n"
      + "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All runs\">\n<table>\n"
      + "<thead><tr>"
    text += TuneRun.names.map { "<th scope=\"col\">\($0)</th>" }.joined()
    text += "</tr></thead>\n<tbody>\n"
    for (index, run) in results.runs.enumerated() {
      text += "<tr>"
      for field in run.fields {
        let value = Self.text(field.value)
        text +=
          "<td data-key=\"runs.\(index).\(field.name)\" data-value=\"\(value)\">\(value)</td>"
      }
      text += "</tr>\n"
    }
    return text + "</tbody>\n</table>\n</div>\n</details>\n"
  }

  // MARK: Conditions

  private var conditions: String {
    var lines: [(label: String, value: String)] = [
      ("input", results.settings.input),
      ("command", results.command),
      (
        "rounds",
        "\(HumanFormat.count(results.settings.repeats, "round", "rounds")), in each every combination "
          + "once, every other round in the opposite order, after one import that does not count"
      ),
      ("databases", "\(results.temporary), removed after each run"),
    ]
    lines += results.machine.lines
    var text = "<h2>How it was measured</h2>\n<dl>\n"
    for line in lines {
      let value = Markup.escaped(line.value)
      let isCode = line.label == "command" || line.label == "input" || line.label == "databases"
      text += "<dt>\(line.label)</dt><dd>\(isCode ? "<code>\(value)</code>" : value)</dd>\n"
    }
    text += "</dl>\n"
    if !results.notes.isEmpty {
      text += "<ul class=\"note\">\n"
      text += results.notes.map { "<li>\(Markup.escaped($0))</li>\n" }.joined()
      text += "</ul>\n"
    }
    return text
  }
}

extension String {
  /// The text as the beginning of a heading.
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
