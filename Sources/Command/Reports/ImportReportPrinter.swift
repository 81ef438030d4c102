import Base
import Engine
import Importer

/// The report of an import, for people and for programs.
struct ImportReportPrinter {
  let report: ImportReport
  let options: ImportOptions
  /// The command that made the report.
  var command = "import"

  /// The text prints at most this number of notes; an import of thousands of inputs may have more.
  private static let shownNotes = 50

  /// True when more records were rejected than allowed: only a dry run continues after that.
  var exceedsRejects: Bool {
    switch options.maxRejects {
    case .unlimited: false
    case .count(let limit): report.rejected > limit
    case .share(let share): Double(report.rejected) > share * Double(report.read)
    }
  }

  // MARK: JSON

  var json: JSONValue {
    [
      "command": .string(command), "inputs": .array(report.inputs.map { .string($0) }),
      "database": .string(report.database), "table": .string(report.table),
      "read": .int(report.read), "imported": .int(report.imported),
      "updated": .int(report.updated), "deleted": .int(report.deleted),
      "skipped": .int(report.skipped),
      "unchanged": .int(report.unchanged), "rejected": .int(report.rejected),
      "filtered": .int(report.filtered),
      "batchSize": batchSize, "batches": .int(report.batches),
      "seconds": .double(report.seconds), "bytesRead": .int(report.bytesRead),
      "readerSeconds": .double(report.readerSeconds),
      "writerSeconds": .double(report.writerSeconds),
      "flusherSeconds": .double(report.flusherSeconds),
      "bytesWritten": .int(report.bytesWritten), "columns": .array(report.columns.map(column)),
      "file": .optional(report.file) {
        [
          "total": .int($0.total), "used": .int($0.used), "free": .int($0.free),
          "pinned": .int($0.pinned), "kept": .int($0.kept),
        ]
      },
      "compaction": compaction, "dialect": .optional(report.dialect) { $0.json },
      "resumedAt": .optional(report.resumedAt, resumePoint),
      "rejects": .optional(report.rejects, rejectFiles),
      "merged": .optional(report.merged) {
        [
          "inserted": .int($0.inserted), "changed": .int($0.changed), "deleted": .int($0.deleted),
          "both": .int($0.ofBoth),
        ]
      },
      "changes": .optional(report.changes) {
        [
          "file": .optional($0.path) { .string($0) }, "inserted": .int($0.inserted),
          "deleted": .int($0.deleted),
          "changed": .int($0.changed),
        ]
      },
      "files": .array(report.files.map(file)),
      // Not counted on a server: that may take longer than the import.
      "objects": report.isOfServer ? .null : .int(report.objects),
      "objectsBefore": report.isOfServer ? .null : .int(report.objectsBefore),
      "fileBefore": .int(report.fileBefore), "dryRun": .bool(report.isDryRun),
      "interrupted": .bool(report.isInterrupted),
      "resume": report.isInterrupted && !hasQuery ? .string(resumeCommand) : .null,
      "publish": report.isOfServer ? .null : .string(report.publication.rawValue),
      "published": .bool(report.isPublished),
      "pending": .optional(report.pending) { $0.json },
      "notes": .array(report.notes.map { .string($0) }),
    ]
  }

  /// The report of an import that failed: the committed part, without the numbers known only at the end.
  var jsonOfFailure: JSONValue {
    guard case .object(let members) = json else { return json }
    let unknown: Set<String> = ["objects", "file", "compaction", "resume"]
    return .object(members.filter { !unknown.contains($0.key) })
  }

  private func resumePoint(_ point: ImportReport.ResumePoint) -> JSONValue {
    [
      "record": .int(point.record), "byteOffset": .int(point.byteOffset),
      "complete": .bool(point.isComplete),
    ]
  }

  private func rejectFiles(_ files: ImportReport.RejectFiles) -> JSONValue {
    ["file": .string(files.path), "reasons": .string(files.reasonsPath)]
  }

  private func file(_ file: ImportReport.FileReport) -> JSONValue {
    [
      "path": .string(file.path), "read": .int(file.read), "imported": .int(file.imported),
      "updated": .int(file.updated), "skipped": .int(file.skipped),
      "unchanged": .int(file.unchanged), "rejected": .int(file.rejected),
      "filtered": .int(file.filtered),
      "bytesRead": .int(file.bytesRead), "resumedAt": .optional(file.resumedAt, resumePoint),
      "rejects": .optional(file.rejects, rejectFiles),
      "columns": .array(file.columns.map(column)),
      "dialect": .optional(file.dialect) { $0.json },
      "notes": .array(file.notes.map { .string($0) }),
    ]
  }

  private var batchSize: JSONValue {
    switch report.batchSize {
    case .records(let size): .int(size)
    case .all: "all"
    }
  }

  private func column(_ column: ImportReport.ColumnReport) -> JSONValue {
    [
      "name": .string(column.name), "type": .string(column.type.name), "nulls": .int(column.nulls),
      "spelled": .optional(column.notation) { .array($0.patterns.map { .string($0) }) },
      "widened": .optional(column.widened) {
        [
          "from": .string($0.from.name), "to": .string($0.to.name), "line": .int($0.line),
        ]
      },
    ]
  }

  private var compaction: JSONValue {
    let result = report.compaction
    return [
      "decision": .string(result.decision.rawValue), "before": .int(result.before),
      "after": .int(result.after), "seconds": .double(report.compactionSeconds),
      "reason": .optional(result.reason) { .string($0) }, "online": .bool(result.isInUse),
    ]
  }

  // MARK: Text

  var text: String {
    var lines: [String] = [headline]
    if let resumed = report.resumedAt, !resumed.isComplete {
      lines.append(
        "  resumed     after record \(HumanFormat.count(resumed.record)), "
          + "byte \(HumanFormat.count(resumed.byteOffset))")
    }
    lines.append("  read        " + readText)
    if report.updated + report.skipped + report.unchanged > 0 {
      lines.append("  known keys  " + knownKeysText)
    }
    if report.deleted > 0 {
      lines.append(
        "  deleted     " + HumanFormat.count(report.deleted, "object", "objects")
          + (options.truncate
            ? " that were there before"
            : " that \(report.inputs.count == 1 ? "the input does" : "the inputs do") not have"))
    }
    if report.filtered > 0 {
      lines.append(
        "  filtered    " + HumanFormat.count(report.filtered, "record", "records")
          + " that --where leaves out")
    }
    if report.rejected > 0 { lines.append("  rejected    " + rejectedText) }
    if let merged = report.merged { lines.append("  merged      " + text(merged)) }
    if let changes = report.changes {
      lines.append((report.isDryRun ? "  would be    " : "  changes     ") + text(changes))
    }
    lines += inputLines
    if let dialect = report.dialect { lines.append("  dialect     " + dialect.text) }
    if !report.columns.isEmpty {
      for (index, line) in columnsText.enumerated() {
        lines.append((index == 0 ? "  columns     " : "              ") + line)
      }
    }
    lines += report.notes.prefix(Self.shownNotes).map { "  note        " + $0 }
    if report.notes.count > Self.shownNotes {
      let more = report.notes.count - Self.shownNotes
      lines.append(
        "  note        and \(HumanFormat.count(more, "note", "notes")) more, which --report json has"
      )
    }
    if let file = report.file {
      lines.append("  objects     " + objectsText)
      lines.append("  file        " + fileText(file))
      lines.append("  compaction  " + compactionText)
    }
    if let pending = report.pending { lines.append("  pending     " + pending.text) }
    if report.isInterrupted { lines.append(interruption) }
    // Names come from files and their first lines: their control characters must not reach the terminal.
    return lines.map { StandardError.escaped($0) + "\n" }.joined()
  }

  /// The report in one line, for logs.
  var line: String {
    let inputs = report.inputs.count > 3 ? ["\(report.inputs.count) inputs"] : report.inputs
    var parts = [
      "\(inputs.joined(separator: ", ")) into table \"\(report.table)\" of \(report.database)"
    ]
    if report.isDryRun { parts.append("dry run, nothing was written") }
    if report.isNothingToDo {
      parts.append("nothing to do, it was imported completely before")
    } else {
      parts.append(
        [
          ("read", report.read), ("imported", report.imported), ("updated", report.updated),
          ("skipped", report.skipped), ("unchanged", report.unchanged),
          ("rejected", report.rejected),
        ].map { "\($0.0) \(HumanFormat.count($0.1))" }.joined(separator: ", "))
      if report.filtered > 0 { parts.append("filtered \(HumanFormat.count(report.filtered))") }
      if report.deleted > 0 { parts.append("deleted \(HumanFormat.count(report.deleted))") }
    }
    if let rejects = report.rejects {
      let others = Set(report.files.compactMap { $0.rejects?.path }).count - 1
      parts.append(
        "rejected records in \(rejects.path)"
          + (others > 0 ? " and \(HumanFormat.count(others, "other", "others"))" : ""))
    }
    if let changes = report.changes {
      parts.append(changes.path.map { "changes in \($0)" } ?? "would be \(text(changes))")
    }
    if let merged = report.merged { parts.append("merged \(text(merged))") }
    if let file = report.file {
      parts.append(
        HumanFormat.count(report.objects, "object", "objects") + " in "
          + HumanFormat.size(file.total))
    }
    if report.compaction.decision == .compacted {
      parts.append("compacted from \(HumanFormat.size(report.compaction.before))")
    }
    parts.append(HumanFormat.duration(seconds: report.seconds))
    if let note = report.notes.first {
      let count = report.notes.count
      parts.append(
        count == 1 ? "note: \(note)" : "\(HumanFormat.count(count)) notes, the first: \(note)")
    }
    if let pending = report.pending { parts.append("pending: \(pending.text)") }
    if report.isInterrupted { parts.append(interruption) }
    let text = StandardError.escaped(parts.joined(separator: "; "))
    return "\(Timestamp.now) sheaf \(command): \(text)\n"
  }

  /// The maximum number of inputs that have a line each.
  private static let mostLines = 20

  /// A line for each input; of more than `mostLines`, the number of each kind.
  private var inputLines: [String] {
    guard report.files.count > 1 else { return [] }
    if report.files.count <= Self.mostLines {
      return report.files.map { "  input       " + text($0) }
    }
    let complete = report.files.count { $0.resumedAt?.isComplete == true }
    let resumed = report.files.count { $0.resumedAt?.isComplete == false }
    let rejecting = report.files.count { $0.rejected > 0 }
    var parts = ["\(HumanFormat.count(report.files.count - complete)) read"]
    if complete > 0 { parts.append("\(HumanFormat.count(complete)) complete before") }
    if resumed > 0 { parts.append("\(HumanFormat.count(resumed)) resumed") }
    if rejecting > 0 { parts.append("\(HumanFormat.count(rejecting)) with rejected records") }
    return ["  inputs      \(parts.joined(separator: ", ")); --report json has each"]
  }

  /// The message of an interrupted import, with the command that resumes it.
  var interruption: String {
    if report.isDryRun { return "interrupted; nothing was written" }
    let place =
      report.batches > 0
      ? "interrupted after a whole batch; " : "interrupted before anything was committed; "
    return place + continuation
  }

  /// The report of the error that has ended an import into a file. Where there was no space, it says what was
  /// committed and how to go on.
  func failure(_ error: any Error) -> CommandError {
    let failure = CommandError(writing: error)
    let system: SystemError
    switch error {
    case let error as SystemError: system = error
    case EngineError.system(let error): system = error
    default: return failure
    }
    guard system.isNoSpace, !report.inputs.isEmpty, !report.isDryRun else { return failure }
    let standing =
      report.batches > 0
      ? "\(HumanFormat.count(report.batches, "batch is", "batches are")) committed; "
        + "\(system.spaceAdvice), then "
      : "nothing was committed; \(system.spaceAdvice), and run the command again"
    return CommandError(
      failure.status, "\(system); \(standing)\(report.batches > 0 ? continuation : "")")
  }

  /// How to go on with the import.
  private var continuation: String {
    if hasQuery { return "a query cannot be gone on with: import all of it, with --truncate" }
    return (report.inputs.contains("-") ? "to go on, send the same input again to: " : "to go on: ")
      + resumeCommand
  }

  private var objectsText: String {
    let change = report.objects - report.objectsBefore
    let sign = change > 0 ? "+" : ""
    return "\(HumanFormat.count(report.objectsBefore)) before, "
      + "\(HumanFormat.count(report.objects)) now (\(sign)\(HumanFormat.count(change)))"
  }

  private func fileText(_ file: FileUse) -> String {
    let before =
      report.fileBefore == 0 ? "new" : "\(HumanFormat.size(report.fileBefore)) before"
    return "\(before), \(HumanFormat.size(file.total)) now: \(HumanFormat.size(file.used)) used, "
      + "\(HumanFormat.size(file.free)) free"
      + (file.kept > 0 ? ", \(HumanFormat.size(file.kept)) of kept versions" : "")
      + (file.pinned > 0 ? ", \(HumanFormat.size(file.pinned)) kept for older versions" : "")
  }

  private var headline: String {
    let table = "table \"\(report.table)\" of \(report.database)"
    if report.isDryRun {
      return "dry run: \(HumanFormat.count(report.imported, "object", "objects")) would go into "
        + "\(table); nothing was written"
    }
    if report.isNothingToDo {
      let first = report.inputs.first ?? ""
      return report.inputs.count == 1
        ? "nothing to do: \(first == "-" ? "standard input" : first) was imported completely before"
        : "nothing to do: all \(HumanFormat.count(report.inputs.count)) inputs were imported "
          + "completely before"
    }
    let imported =
      "imported \(HumanFormat.count(report.imported, "object", "objects")) into \(table)"
    if report.isOfServer { return imported }
    return imported + ", which has \(HumanFormat.count(report.objects)) now"
  }

  private var readText: String {
    "\(HumanFormat.count(report.read, "record", "records")), "
      + "\(HumanFormat.size(report.bytesRead)) in "
      + "\(HumanFormat.duration(seconds: report.seconds)) "
      + "(\(HumanFormat.byteRate(report.bytesRead, seconds: report.seconds))), "
      + "\(HumanFormat.count(report.batches, "batch", "batches"))"
  }

  private var knownKeysText: String {
    "\(HumanFormat.count(report.updated)) updated, \(HumanFormat.count(report.skipped)) skipped, "
      + "\(HumanFormat.count(report.unchanged)) unchanged"
  }

  /// The changes that other processes made meanwhile.
  private func text(_ merged: ImportReport.Merged) -> String {
    let parts = [
      (merged.inserted, "inserted"), (merged.changed, "changed"), (merged.deleted, "deleted"),
    ].filter { $0.0 > 0 }.map { "\(HumanFormat.count($0.0)) \($0.1)" }
    return (parts.isEmpty ? "nothing" : parts.joined(separator: ", "))
      + " by somebody else meanwhile"
      + (merged.ofBoth > 0 ? ", \(HumanFormat.count(merged.ofBoth)) by both" : "")
  }

  private func text(_ changes: ImportReport.Changes) -> String {
    "\(HumanFormat.count(changes.inserted)) inserted, \(HumanFormat.count(changes.changed)) changed, "
      + "\(HumanFormat.count(changes.deleted)) deleted\(changes.path.map { ": \($0)" } ?? "")"
  }

  private var rejectedText: String {
    HumanFormat.count(report.rejected, "record", "records")
      + (report.rejects.map { ": \($0.path), reasons in \($0.reasonsPath)" } ?? "")
  }

  /// Names and types, in lines of about the width of a page.
  private var columnsText: [String] {
    var shown = report.columns.prefix(24).map { column in
      "\(column.name) \(column.type.name)" + (column.notation.map { " (\($0.summary))" } ?? "")
    }
    let more = report.columns.count - shown.count
    if more > 0 { shown.append("and \(more) more") }
    var lines: [String] = []
    for (index, text) in shown.enumerated() {
      let text = index < shown.count - 1 ? text + "," : text
      if let last = lines.last, DisplayWidth.of(last) + DisplayWidth.of(text) < 84 {
        lines[lines.count - 1] = last + " " + text
      } else {
        lines.append(text)
      }
    }
    return lines.isEmpty ? [""] : lines
  }

  private var compactionText: String {
    let result = report.compaction
    switch result.decision {
    case .compacted:
      return
        "\(HumanFormat.size(result.before)) before it, \(HumanFormat.size(result.after)) after, in "
        + HumanFormat.duration(seconds: report.compactionSeconds)
        + (result.isInUse ? ", beside others" : "") + (result.reason.map { "; \($0)" } ?? "")
    case .notNeeded: return "not needed"
    case .disabled: return result.reason.map { "left out: \($0)" } ?? "turned off"
    case .skippedInUse, .skippedNoSpace, .skippedNotOwner, .skippedOtherNames:
      return "skipped: \(result.reason ?? "")"
    }
  }

  /// The line of one of several inputs.
  private func text(_ file: ImportReport.FileReport) -> String {
    if file.resumedAt?.isComplete == true { return "\(file.path): complete before" }
    var parts = ["\(HumanFormat.count(file.imported)) imported"]
    for (count, what) in [
      (file.updated, "updated"), (file.skipped, "skipped"), (file.unchanged, "unchanged"),
      (file.rejected, "rejected"), (file.filtered, "filtered"),
    ] where count > 0 { parts.append("\(HumanFormat.count(count)) \(what)") }
    if let point = file.resumedAt {
      parts.append("resumed after record \(HumanFormat.count(point.record))")
    }
    return "\(file.path): \(parts.joined(separator: ", "))"
  }

  /// A word of the command, without a password.
  private static func withoutPassword(_ word: String) -> String {
    let name = "--into="
    if word.hasPrefix(name), ServerAddress.isServer(String(word.dropFirst(name.count))) {
      return name + ServerAddress.shown(String(word.dropFirst(name.count)))
    }
    return ServerAddress.isServer(word) ? ServerAddress.shown(word) : word
  }

  /// True when an input is a query, which can only be read from its beginning.
  private var hasQuery: Bool { report.inputs.contains(where: ServerAddress.isURL) }

  /// The command that resumes this import.
  private var resumeCommand: String {
    Self.resuming(GivenWords.all).map { ShellWord.quoted(Self.withoutPassword($0)) }
      .joined(separator: " ")
  }

  /// The words of the command that resumes an import. Behind `--` every word is an input.
  static func resuming(_ words: [String]) -> [String] {
    let options = words.prefix { $0 != "--" }
    return ["sheaf"] + options.filter { $0 != "--resume" } + ["--resume"]
      + words.dropFirst(options.count)
  }
}
