import Engine

/// The recommended batch size, and the reason in plain words.
///
/// The rule, for each durability: the smallest of the batch sizes whose median time is within 5% of the
/// fastest one's. Durability is not chosen by speed, so it is not chosen here: the recommendation is for the
/// default of `sheaf import` if that was measured.
struct TuneRecommendation: Sendable {
  static let tolerance = 0.05
  static let rule =
    "the smallest batch whose median time is within 5% of the fastest, for the same durability"

  /// The result for one durability.
  struct Choice: Sendable {
    let chosen: TuneSummary
    let fastest: TuneSummary
  }

  let main: Choice
  /// For every durability that was measured.
  let choices: [Choice]
  let reasons: [String]

  /// Nil when nothing has been measured.
  init?(_ results: TuneResults) {
    let summaries = results.summaries
    let choices = results.settings.durabilities.compactMap { durability in
      Self.choice(summaries.filter { $0.combination.durability == durability })
    }
    let wanted = results.settings.mainDurability
    let main = choices.first { $0.chosen.combination.durability == wanted } ?? choices.first
    guard let main else { return nil }
    self.main = main
    self.choices = choices
    reasons = TuneReasons(results, main, summaries).sentences
  }

  private static func choice(_ summaries: [TuneSummary]) -> Choice? {
    guard let fastest = summaries.min(by: { $0.seconds.median < $1.seconds.median }) else {
      return nil
    }
    let bound = fastest.seconds.median * (1 + tolerance)
    let chosen = summaries.filter { $0.seconds.median <= bound }
      .min { CountOrAll.isSmaller($0.combination.batchSize, $1.combination.batchSize) }
    return Choice(chosen: chosen ?? fastest, fastest: fastest)
  }

  var headline: String {
    let combination = main.chosen.combination
    return "\(combination.batchSize.phrase), durability \(combination.durability.rawValue)"
  }

  var json: JSONValue {
    let combination = main.chosen.combination
    return [
      "batchSize": combination.batchSize.json,
      "durability": .string(combination.durability.rawValue), "rule": .string(Self.rule),
      "reasons": .array(reasons.map { .string($0) }),
      "byDurability": .array(
        choices.map {
          [
            "durability": .string($0.chosen.combination.durability.rawValue),
            "batchSize": $0.chosen.combination.batchSize.json,
            "seconds": .double($0.chosen.seconds.median),
            "fastestBatchSize": $0.fastest.combination.batchSize.json,
            "fastestSeconds": .double($0.fastest.seconds.median),
          ]
        }),
    ]
  }
}

/// Sentences about one choice; each states only what was measured or what holds by construction.
private struct TuneReasons {
  let results: TuneResults
  let choice: TuneRecommendation.Choice
  let summaries: [TuneSummary]

  init(_ results: TuneResults, _ choice: TuneRecommendation.Choice, _ summaries: [TuneSummary]) {
    self.results = results
    self.choice = choice
    self.summaries = summaries
  }

  private var chosen: TuneSummary { choice.chosen }
  /// Other batch sizes with the same durability.
  private var siblings: [TuneSummary] {
    summaries.filter {
      $0.combination.durability == chosen.combination.durability
        && $0.combination != chosen.combination
    }
  }

  var sentences: [String] {
    var sentences = [speed, loss, memory, file, durability].compactMap { $0 }
    if let unrest { sentences.append(unrest) }
    if !results.isComplete {
      sentences.append("The experiment was ended early: fewer runs, less certainty.")
    }
    return sentences
  }

  /// A smaller batch that would have been chosen without its slower runs.
  private var unrest: String? {
    let bound = choice.fastest.seconds.median * (1 + TuneRecommendation.tolerance)
    let rival = siblings.first {
      CountOrAll.isSmaller($0.combination.batchSize, chosen.combination.batchSize)
        && $0.seconds.minimum <= bound
    }
    guard let rival else { return nil }
    return "Doubt: \(rival.combination.batchSize.phrase) was within the 5% too in its best run "
      + "(\(TuneFormat.seconds(rival.seconds.minimum))); on a quieter machine, or with more --repeat, "
      + "it may be the choice."
  }

  private func quoted(_ summary: TuneSummary) -> String {
    let mark = summary.isScaled ? "≈ " : ""
    return mark + TuneFormat.seconds(summary.seconds.median)
  }

  private var speed: String? {
    let fastest = choice.fastest
    if siblings.isEmpty { return "No other batch size was measured." }
    var text: String
    if fastest.combination == chosen.combination {
      text = "Speed: it is the fastest, at \(quoted(chosen))"
    } else {
      text =
        "Speed: \(quoted(chosen)), within 5% of the fastest "
        + "(\(fastest.combination.batchSize.phrase): \(quoted(fastest)))"
    }
    let smaller = siblings.last {
      CountOrAll.isSmaller($0.combination.batchSize, chosen.combination.batchSize)
    }
    if let smaller, chosen.seconds.median > 0 {
      let factor = smaller.seconds.median / chosen.seconds.median
      text +=
        "; the next smaller batch, \(smaller.combination.batchSize.shown), takes "
        + "\(TuneFormat.times(factor)) times as long"
    }
    return text + "."
  }

  private var loss: String {
    guard case .count(let count) = chosen.combination.batchSize else { return lossOfAll }
    let size = HumanFormat.count(count, "record", "records")
    switch chosen.combination.durability {
    case .full:
      return "Loss: a kill or a power cut takes at most the batch being written, \(size)."
    case .group:
      return "Loss: a kill or a power cut takes the batch being written, \(size), and those just "
        + "before it that were not on disk yet; the smaller the batches, the less that is."
    case .none:
      return "Loss: nothing is on disk for certain before the end, whatever the batch size; a kill "
        + "or a power cut may take the whole import."
    }
  }

  private var lossOfAll: String {
    var text = "Loss: a kill or a power cut before the end takes the whole import"
    if let smaller = siblings.last, case .count(let count) = smaller.combination.batchSize,
      chosen.combination.durability != .none
    {
      text +=
        "; where that matters, \(HumanFormat.count(count)) is the next choice, at "
        + quoted(smaller)
    }
    return text + "."
  }

  private var memory: String? {
    guard let most = siblings.max(by: { $0.peakMemory.median < $1.peakMemory.median }) else {
      return nil
    }
    return "Memory: \(HumanFormat.size(chosen.peakMemory.median)) at its peak; "
      + "\(most.combination.batchSize.phrase): \(HumanFormat.size(most.peakMemory.median))."
  }

  private var file: String {
    var text =
      "File: \(HumanFormat.size(chosen.fileBytes.median)), "
      + "\(HumanFormat.size(chosen.compactedBytes.median)) after compaction"
    if let first = siblings.first, chosen.bytesWritten.median > 0 {
      let factor = Double(first.bytesWritten.median) / Double(chosen.bytesWritten.median)
      text +=
        "; \(first.combination.batchSize.phrase) makes a file of "
        + "\(HumanFormat.size(first.fileBytes.median)) and writes "
        + "\(TuneFormat.times(factor)) times as many bytes"
    }
    return text + "."
  }

  private var durability: String? {
    let others = summaries.filter {
      $0.combination.batchSize == chosen.combination.batchSize
        && $0.combination.durability != chosen.combination.durability
    }
    guard !others.isEmpty, chosen.seconds.median > 0 else { return nil }
    let parts = others.map {
      "\($0.combination.durability.rawValue) takes "
        + "\(TuneFormat.times($0.seconds.median / chosen.seconds.median)) times as long"
    }
    return "Durability, at this batch size: \(parts.joined(separator: ", ")) as "
      + "\(chosen.combination.durability.rawValue)."
  }
}
