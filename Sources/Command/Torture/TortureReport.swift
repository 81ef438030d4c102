/// The work of `sheaf torture`, and how it ended.
struct TortureReport {
  let seed: Int
  var seconds = 0.0
  /// Records of an input.
  var records = 0
  var rounds = 0
  /// Imports that were started.
  var imports = 0
  /// Processes that were killed, compactions too.
  var kills = 0
  /// Imports that resumed a killed one.
  var resumes = 0
  var compactions = 0
  var checks = 0
  /// Exports that were made while an import was writing.
  var reads = 0
  /// Exports that were compared with the input.
  var comparisons = 0
  var isInterrupted = false
  /// The guarantee that did not hold.
  var failure: String?
  /// The folder that was kept.
  var folder: String?

  var json: JSONValue {
    .object([
      .init(key: "command", value: "torture"), .init(key: "ok", value: .bool(failure == nil)),
      .init(key: "seed", value: .int(seed)), .init(key: "seconds", value: .double(seconds)),
      .init(key: "interrupted", value: .bool(isInterrupted)),
      .init(key: "rounds", value: .int(rounds)), .init(key: "records", value: .int(records)),
      .init(key: "imports", value: .int(imports)), .init(key: "kills", value: .int(kills)),
      .init(key: "resumes", value: .int(resumes)),
      .init(key: "compactions", value: .int(compactions)),
      .init(key: "checks", value: .int(checks)), .init(key: "reads", value: .int(reads)),
      .init(key: "comparisons", value: .int(comparisons)),
      .init(key: "failure", value: .optional(failure) { .string($0) }),
      .init(key: "folder", value: .optional(folder) { .string($0) }),
    ])
  }

  private var counts: String {
    [
      HumanFormat.count(rounds, "round", "rounds"), HumanFormat.count(imports, "import", "imports"),
      HumanFormat.count(kills, "kill", "kills"), HumanFormat.count(resumes, "resume", "resumes"),
      HumanFormat.count(compactions, "compaction", "compactions"),
      HumanFormat.count(reads, "read beside", "reads beside"),
    ].joined(separator: ", ")
  }

  /// One line about the progress.
  func progress(of seconds: Int) -> String {
    "round \(rounds + 1), \(Int(self.seconds)) of \(seconds) s: \(counts)"
  }

  /// For people: the work done, and what it proves.
  var text: String {
    let held =
      "\(HumanFormat.count(checks, "deep check", "deep checks")) found nothing, and "
      + HumanFormat.count(comparisons, "export was", "exports were") + " what had been imported"
    let end = isInterrupted ? "interrupted" : failure == nil ? "held" : "did not hold"
    return
      "\(end): \(counts), \(HumanFormat.count(records, "record", "records")) each; "
      + (failure == nil ? held : "the folder is kept") + "; seed \(seed)\n"
      + (failure == nil
        ? "This shows what becomes of killed processes here; it cannot cut the power.\n" : "")
  }
}
