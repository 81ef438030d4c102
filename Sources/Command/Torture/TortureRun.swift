import Base
import Engine

/// A guarantee that did not hold.
struct TortureFailure: Error {
  let status: ExitStatus
  let what: String

  init(_ what: String, status: ExitStatus = .dataRefused) {
    self.what = what
    self.status = status
  }
}

/// Rounds of imports that are killed, checked and resumed, until the time is over.
struct TortureRun {
  let folder: TortureFolder
  let seconds: Int
  let progress: StepProgress
  private(set) var report: TortureReport
  private var random: RandomSource
  /// The duration of an undisturbed import on this machine.
  private var typical = 0.0
  private let began = System.monotonicNanoseconds

  /// The inputs are chosen so that an import takes about this long, which is long enough for a kill to hit
  /// it.
  private static let wantedSeconds = 0.6
  private static let records = (fewest: 4000, most: 200_000)

  init(_ folder: TortureFolder, seconds: Int, seed: Int, _ progress: StepProgress) {
    self.folder = folder
    self.seconds = seconds
    self.progress = progress
    report = TortureReport(seed: seed)
    random = RandomSource(seed: UInt64(bitPattern: Int64(seed)))
  }

  /// - Throws: `TortureFailure`, `ChildRun.Interrupted`, or the error that prevents further rounds.
  mutating func run() throws {
    defer { report.seconds = elapsed }
    try measure()
    repeat {
      try round()
      report.rounds += 1
    } while elapsed < Double(seconds)
  }

  private var elapsed: Double {
    (Double(System.monotonicNanoseconds - began) / 1e7).rounded() / 100
  }

  // MARK: Inputs

  /// Writes inputs of a size that this machine takes some time for.
  ///
  /// Imports more and more records. Other work of the machine can only make an import slower, so that fewer
  /// records are used than possible, never more.
  private mutating func measure() throws {
    var records = Self.records.fewest
    while true {
      report.records = records
      try makeInputs(records)
      typical = 0
      let seconds = try importing(folder.input, ["--batch-size", "1000"]).seconds
      try folder.empty()
      if seconds >= Self.wantedSeconds / 2 || records >= Self.records.most { return }
      records = min(records * 4, Int(Double(records) * Self.wantedSeconds / max(seconds, 0.001)))
      records = min(records, Self.records.most)
    }
  }

  private mutating func makeInputs(_ records: Int) throws {
    // Several databases exist at the same time for a moment: of both inputs, copies of compactions, exports.
    let free = try folder.freeSpace()
    let need = 64 << 20 + records * 4000
    guard free >= need else {
      throw CommandError(
        .inputOutput,
        "\(folder.path): \(HumanFormat.size(free)) are free there, and it needs up to "
          + "\(HumanFormat.size(need)); free some space, or name a folder of another disk")
    }
    for path in [folder.input, folder.second] {
      var generator = SampleGenerator(shape: .numbers, seed: random.next())
      let file = try BufferedOutput.file(path)
      try generator.write(rows: records, to: file)
      try file.close()
    }
  }

  // MARK: A round

  private mutating func round() throws {
    try folder.empty()
    let plan = TorturePlan(records: report.records, &random)
    var seen = TortureState(folder, plan)
    if plan.replaces {
      try expectDone(importing(folder.input, plan.words(isFirst: true, truncates: false)), "import")
      try compare(&seen, isWhole: true)
      seen.replaces = true
    }
    let input = plan.replaces ? folder.second : folder.input
    for attempt in 0... {
      let words = plan.words(isFirst: attempt == 0, truncates: plan.replaces)
      // Some attempts that may be killed, then one that runs to its end.
      let limit = attempt < plan.kills ? fraction() * typical : nil
      let result = try importing(input, words, killAfter: limit, besides: &seen)
      if attempt > 0 { report.resumes += 1 }
      if !result.wasKilled {
        try expectDone(result, "import")
        break
      }
      try sabotage()
      try check()
      try compare(&seen, isWhole: false)
    }
    try check()
    try compare(&seen, isWhole: true)
    try compact(&seen)
    let again = try importing(input, plan.words(isFirst: false, truncates: plan.replaces))
    try expectDone(again, "import")
    guard again.text.hasPrefix("nothing to do: ") else {
      throw TortureFailure("an import that was complete had something to resume: \(again.text)")
    }
    try compare(&seen, isWhole: true)
  }

  /// From 0 to 1.
  private mutating func fraction() -> Double { Double(random.below(1_000_001)) / 1e6 }

  /// Kills a compaction, and lets another run to its end.
  private mutating func compact(_ seen: inout TortureState) throws {
    for isKilled in [true, false] {
      let result = try child(
        ["compact", folder.database], killAfter: isKilled ? fraction() * typical : nil)
      report.compactions += 1
      if !result.wasKilled { try expectDone(result, "compact") }
      try check()
      try compare(&seen, isWhole: true)
    }
  }

  // MARK: Children

  @discardableResult
  private mutating func child(
    _ words: [String], killAfter limit: Double? = nil
  ) throws -> ChildRun.Result {
    show()
    let result = try ChildRun.finish(
      try ChildRun.start(["command"] + words, capturesError: true), killAfter: limit)
    if result.wasKilled { report.kills += 1 }
    return result
  }

  private mutating func show() {
    report.seconds = elapsed
    progress.show(report.progress(of: seconds))
  }

  private mutating func importing(
    _ input: String, _ words: [String], killAfter limit: Double? = nil
  ) throws -> ChildRun.Result {
    report.imports += 1
    let result = try child(importWords(input) + words, killAfter: limit)
    note(result, words)
    return result
  }

  private func importWords(_ input: String) -> [String] {
    ["import", input, "--into", folder.database, "--table", "t"]
  }

  /// Updates the time of an import from one that ran undisturbed from beginning to end.
  private mutating func note(_ result: ChildRun.Result, _ words: [String]) {
    guard !result.wasKilled, result.ending.status == 0, !words.contains("--resume") else { return }
    typical = typical == 0 ? result.seconds : (typical + result.seconds) / 2
  }

  /// Imports, with a reader that starts some time later.
  private mutating func importing(
    _ input: String, _ words: [String], killAfter limit: Double?, besides seen: inout TortureState
  ) throws -> ChildRun.Result {
    report.imports += 1
    show()
    let writer = try ChildRun.start(
      ["command"] + importWords(input) + words, capturesError: true)
    let reader: ChildRun.Started
    do {
      System.sleep(milliseconds: UInt32(min(fraction() * typical * 700, 10_000)))
      reader = try ChildRun.start(
        ["command"] + TortureState.export(folder, to: folder.beside), capturesError: true)
    } catch {
      _ = try? ChildRun.finish(writer, killAfter: 0)
      throw error
    }
    let result: ChildRun.Result
    do {
      result = try ChildRun.finish(writer, killAfter: limit)
    } catch {
      _ = try? ChildRun.finish(reader, killAfter: 0)
      throw error
    }
    if result.wasKilled { report.kills += 1 }
    note(result, words)
    let read = try ChildRun.finish(reader)
    if !seen.isThere, let status = read.ending.status.flatMap({ ExitStatus(rawValue: $0) }),
      [.usage, .dataRefused, .inputMissing].contains(status)
    {
      // The reader came before there was a table.
      return result
    }
    try expectDone(read, "export")
    report.reads += 1
    try seen.take(folder.beside, isWhole: false)
    return result
  }

  private mutating func check() throws {
    guard (try? System.status(path: folder.database).size) ?? 0 > 0 else { return }
    report.checks += 1
    let result = try child(["check", folder.database, "--deep"])
    // A file that was killed before its first write is empty, and not a database yet.
    if result.ending.status == ExitStatus.dataRefused.rawValue,
      result.text.contains("(it is empty)")
    {
      return
    }
    try expectDone(result, "check --deep")
  }

  private mutating func compare(_ seen: inout TortureState, isWhole: Bool) throws {
    guard (try? System.status(path: folder.database).size) ?? 0 > 0 else {
      return try seen.takeNothing(isWhole: isWhole)
    }
    let result = try child(TortureState.export(folder, to: folder.exported))
    let status = result.ending.status.flatMap { ExitStatus(rawValue: $0) }
    if status == .usage || result.errorText.contains("(it is empty)") {
      // There is no table yet.
      return try seen.takeNothing(isWhole: isWhole)
    }
    try expectDone(result, "export")
    try seen.take(folder.exported, isWhole: isWhole)
    report.comparisons += 1
  }

  private func expectDone(_ result: ChildRun.Result, _ what: String) throws {
    if result.ending.status == 0 { return }
    let said = (result.errorText + result.text).split(separator: "\n").first ?? ""
    let end =
      result.ending.signal.map { "was ended by signal \($0)" }
      ?? "ended with status \(result.ending.status ?? -1)"
    let status: ExitStatus =
      switch result.ending.status.flatMap({ ExitStatus(rawValue: $0) }) {
      case .inputOutput, .cannotCreate: .inputOutput
      case nil, .bug: result.ending.signal == System.killSignal ? .inputOutput : .bug
      default: .dataRefused
      }
    throw TortureFailure("sheaf \(what) \(end): \(said)", status: status)
  }

  /// For the tests: imitates a disk that does not keep its promises.
  private func sabotage() throws {
    #if DEBUG
      guard System.environment("SHEAF_TORTURE_DAMAGE") != nil,
        let size = (try? System.status(path: folder.database).size), size > 8192
      else { return }
      let descriptor = try System.openRegular(folder.database, writable: true)
      defer { System.close(descriptor) }
      let damage = [UInt8](repeating: 0xA5, count: size - 8192)
      try damage.withUnsafeBytes {
        try System.write(descriptor, at: 8192, $0, path: folder.database)
      }
    #endif
  }
}
