import Engine

/// Imports the same input repeatedly, and collects the measurements.
///
/// It begins with imports that are not measured. One reads the whole input, and counts its records. For each
/// combination with many transactions, two imports of its first transactions estimate its time. A combination
/// that would take too long is measured on a part of the input, and once on a part of that, so that the whole
/// can be estimated from two points. Then every round imports with every combination. Every other round has
/// the opposite order, so that a drift, such as that of the machine's temperature, affects all alike.
struct TuneExperiment {
  /// Combinations with fewer transactions have no estimate of their own.
  private static let manyTransactions = 200
  /// The transactions of the two imports of an estimate.
  private static let pilotTransactions = (short: 40, long: 200)

  let settings: TuneSettings
  let folder: TuneFolder
  let progress: StepProgress
  private(set) var results: TuneResults
  /// Seconds that one run of each combination is expected to take.
  private var expected: [Double] = []

  init(_ settings: TuneSettings, _ folder: TuneFolder, _ progress: StepProgress) {
    self.settings = settings
    self.folder = folder
    self.progress = progress
    results = TuneResults(settings: settings, machine: TuneMachine(folder: folder.path))
    results.temporary = folder.work
  }

  /// - Returns: the error that ended it early; nil when everything has been measured.
  mutating func run() -> (any Error)? {
    do {
      try measure()
      results.isComplete = true
      return nil
    } catch {
      return error
    }
  }

  private mutating func measure() throws {
    progress.show("warm-up: \(settings.input)")
    let warmUp = try importing(
      TuneCombination(batchSize: .count(1000), durability: settings.mainDurability),
      limit: settings.limit)
    folder.empty()
    results.records = warmUp[.records]
    results.rejected = warmUp[.rejected]
    guard results.records > 0 else {
      throw CommandError(.dataRefused, "\(settings.input): there are no records to import")
    }
    if results.rejected > 0 {
      results.notes.append(
        "Rejected in every run: \(HumanFormat.count(results.rejected, "record", "records")); "
          + "sheaf import --dry-run says why.")
    }
    leaveOutTooLarge()
    let combinations = results.settings.combinations
    let limits = try combinations.map { try limit($0, warmUpSeconds: warmUp.seconds) }
    for round in 1...settings.repeats {
      let indices = Array(combinations.indices)
      for (position, index) in (round % 2 == 1 ? indices : indices.reversed()).enumerated() {
        show(round, position, combinations[index])
        results.runs.append(try run(round, combinations[index], limit: limits[index]))
      }
    }
  }

  /// Drops batch sizes not smaller than the input, if `all` is measured: they are the same.
  private mutating func leaveOutTooLarge() {
    guard settings.batchSizes.contains(.all) else { return }
    let total = results.records
    let isTooLarge = { (size: CountOrAll) in
      if case .count(let count) = size { count >= total } else { false }
    }
    for size in settings.batchSizes where isTooLarge(size) {
      results.notes.append(
        "Batch size \(size.shown) is left out: the input has "
          + "\(HumanFormat.count(total, "record", "records")), so \"all\" is the same.")
    }
    results.settings.batchSizes.removeAll(where: isTooLarge)
  }

  /// The number of records that a run reads: nil for all, fewer when all would take too long.
  private mutating func limit(_ combination: TuneCombination, warmUpSeconds: Double) throws -> Int?
  {
    let total = results.records
    let size = combination.records(of: total)
    var estimate = TuneEstimate(nil, (total, warmUpSeconds))
    if total / size >= Self.manyTransactions {
      progress.show("estimate: \(combination.phrase)")
      let pilots = try [Self.pilotTransactions.short, Self.pilotTransactions.long].map {
        try (records: size * $0, value: importing(combination, limit: size * $0).seconds)
      }
      folder.empty()
      // If five times the transactions take hardly more time, the noise hides the cost of a transaction. Then
      // only the long import counts, and the estimate is rather too high.
      let isClear = pilots[1].value > 1.2 * pilots[0].value
      estimate = TuneEstimate(isClear ? pilots[0] : nil, pilots[1])
    }
    let seconds = estimate.value(total)
    guard seconds > Double(settings.maxSeconds) else {
      expected.append(seconds)
      return settings.limit
    }
    var records = Self.rounded(estimate.count(for: Double(settings.maxSeconds)))
    if case .count = combination.batchSize { records = max(size, records / size * size) }
    records = min(max(1, records), total)
    expected.append(min(seconds, Double(settings.maxSeconds)))
    guard records < total else { return settings.limit }
    let part = records / 4 / size * size
    if part > 0 {
      progress.show("estimate: \(combination.phrase)")
      results.parts.append(try run(0, combination, limit: part))
    }
    results.notes.append(
      "\(combination.phrase): measured on the first \(HumanFormat.count(records)) of "
        + "\(HumanFormat.count(total)) records, because all would take about "
        + "\(TuneFormat.seconds(seconds)) a run (--max-seconds \(settings.maxSeconds)). Its times, "
        + "sizes and bytes are estimated for all"
        + (part > 0 ? ", from how they grew behind the first \(HumanFormat.count(part))," : "")
        + " and marked with ≈; nobody has measured them.")
    return records
  }

  /// The number rounded down to two significant digits.
  private static func rounded(_ number: Int) -> Int {
    var unit = 1
    while number / unit >= 100 { unit *= 10 }
    return number / unit * unit
  }

  private func importing(_ combination: TuneCombination, limit: Int?) throws
    -> TuneProcess.Measurement
  {
    folder.empty()
    var words = [
      "import", "--into=\(folder.database)", "--rejects=\(folder.rejects)",
      "--batch-size=\(combination.batchSize.word)",
      "--durability=\(combination.durability.rawValue)", "--compact=never",
      "--max-rejects=unlimited",
    ]
    if let limit { words.append("--limit=\(limit)") }
    return try TuneProcess.run(words + settings.importWords + ["--", settings.input])
  }

  private func run(_ round: Int, _ combination: TuneCombination, limit: Int?) throws -> TuneRun {
    let imported = try importing(combination, limit: limit)
    let compacted = try TuneProcess.run(["compact", folder.database])
    folder.empty()
    return TuneRun(
      round: round, combination: combination, records: imported[.records],
      rejected: imported[.rejected], transactions: imported[.transactions],
      seconds: imported.seconds, userSeconds: imported.userSeconds,
      systemSeconds: imported.systemSeconds, bytesWritten: imported[.bytesWritten],
      fileBytes: imported[.fileBytes], compactedBytes: compacted[.fileBytes],
      compactSeconds: compacted.seconds, peakMemory: imported[.peakMemory])
  }

  private func show(_ round: Int, _ position: Int, _ combination: TuneCombination) {
    let all = expected.count * settings.repeats
    let done = results.runs.count
    let order = Array(expected.indices)
    let rest = (round % 2 == 1 ? order : order.reversed()).dropFirst(position)
    let seconds =
      rest.reduce(0) { $0 + expected[$1] }
      + Double(settings.repeats - round) * expected.reduce(0, +)
    // Compactions are not in the estimates; once some runs are over, their times are known.
    let compactions =
      done > 0 ? results.runs.reduce(0) { $0 + $1.compactSeconds } / Double(done) : 0
    let left = seconds + compactions * Double(all - done)
    progress.show(
      "round \(round) of \(settings.repeats), run \(done + 1) of \(all): \(combination.phrase)"
        + "  about \(HumanFormat.duration(seconds: left)) left")
  }
}
