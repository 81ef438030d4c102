import Engine
import Importer

/// The report of an import, for people and for programs.
struct ImportReportPrinter {
  let report: ImportReport
  let options: ImportOptions

  /// True when more records were rejected than allowed: only a dry run gets that far.
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
      "command": "import", "inputs": .array(report.inputs.map { .string($0) }),
      "database": .string(report.database), "table": .string(report.table),
      "read": .int(report.read), "imported": .int(report.imported),
      "updated": .int(report.updated), "skipped": .int(report.skipped),
      "unchanged": .int(report.unchanged), "rejected": .int(report.rejected),
      "batchSize": batchSize, "batches": .int(report.batches),
      "seconds": .double(report.seconds), "bytesRead": .int(report.bytesRead),
      "bytesWritten": .int(report.bytesWritten), "columns": .array(report.columns.map(column)),
      "file": .optional(report.file) {
        [
          "total": .int($0.total), "used": .int($0.used), "free": .int($0.free),
          "pinned": .int($0.pinned),
        ]
      },
      "compaction": compaction, "dialect": .optional(report.dialect, dialect),
      "resumedAt": .optional(report.resumedAt, resumePoint),
      "rejects": .optional(report.rejects, rejectFiles),
      "files": .array(report.files.map(file)),
      "objects": .int(report.objects), "dryRun": .bool(report.isDryRun),
      "interrupted": .bool(report.isInterrupted),
      "resume": report.isInterrupted ? .string(resumeCommand) : .null,
      "notes": .array(report.notes.map { .string($0) }),
    ]
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
      "bytesRead": .int(file.bytesRead), "resumedAt": .optional(file.resumedAt, resumePoint),
      "rejects": .optional(file.rejects, rejectFiles),
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
      "reason": .optional(result.reason) { .string($0) },
    ]
  }

  private func dialect(_ dialect: ImportReport.DialectReport) -> JSONValue {
    func character(_ byte: UInt8) -> JSONValue {
      .string(String(decoding: [byte], as: UTF8.self))
    }
    return [
      "delimiter": character(dialect.delimiter),
      "quote": .optional(dialect.quote, character), "escape": .optional(dialect.quote, character),
      "comment": .null, "header": .bool(dialect.hasHeader), "encoding": "utf-8",
      "skippedLines": 0, "recordEnd": .optional(dialect.recordEnd) { .string($0) },
      "sniffed": .array(dialect.sniffed.map { .string($0) }),
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
    if report.rejected > 0 { lines.append("  rejected    " + rejectedText) }
    if report.files.count > 1 { lines += report.files.map { "  file        " + text($0) } }
    if !report.columns.isEmpty { lines.append("  columns     " + columnsText) }
    for column in report.columns {
      guard let widened = column.widened else { continue }
      lines.append(
        "  widened     \(column.name) from \(widened.from.name) to \(widened.to.name), "
          + "at line \(HumanFormat.count(widened.line))")
    }
    for note in report.notes { lines.append("  note        " + note) }
    if let file = report.file {
      lines.append(
        "  file        \(HumanFormat.size(file.total)): \(HumanFormat.size(file.used)) used, "
          + "\(HumanFormat.size(file.free)) free")
      lines.append("  compaction  " + compactionText)
    }
    if report.isInterrupted {
      lines.append(
        "interrupted after a whole batch; "
          + (report.inputs.contains("-")
            ? "to go on, send the same input again to: " : "to go on: ")
          + resumeCommand)
    }
    // Names come from files and their first lines: they must not command the terminal.
    return lines.map { StandardError.escaped($0) + "\n" }.joined()
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
    return "imported \(HumanFormat.count(report.imported, "object", "objects")) into \(table), "
      + "which has \(HumanFormat.count(report.objects)) now"
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

  private var rejectedText: String {
    HumanFormat.count(report.rejected, "record", "records")
      + (report.rejects.map { ": \($0.path), reasons in \($0.reasonsPath)" } ?? "")
  }

  private var columnsText: String {
    let shown = report.columns.prefix(24).map { "\($0.name) \($0.type.name)" }
    let more = report.columns.count - shown.count
    return shown.joined(separator: ", ") + (more > 0 ? ", and \(more) more" : "")
  }

  private var compactionText: String {
    let result = report.compaction
    switch result.decision {
    case .compacted:
      return
        "\(HumanFormat.size(result.before)) before, \(HumanFormat.size(result.after)) after, in "
        + HumanFormat.duration(seconds: report.compactionSeconds)
    case .notNeeded: return "not needed"
    case .disabled: return "turned off"
    case .skippedInUse, .skippedNoSpace: return "skipped: \(result.reason ?? "")"
    }
  }

  /// One of several inputs.
  private func text(_ file: ImportReport.FileReport) -> String {
    if file.resumedAt?.isComplete == true { return "\(file.path): complete before" }
    var parts = ["\(HumanFormat.count(file.imported)) imported"]
    for (count, what) in [
      (file.updated, "updated"), (file.skipped, "skipped"), (file.unchanged, "unchanged"),
      (file.rejected, "rejected"),
    ] where count > 0 { parts.append("\(HumanFormat.count(count)) \(what)") }
    if let point = file.resumedAt {
      parts.append("resumed after record \(HumanFormat.count(point.record))")
    }
    return "\(file.path): \(parts.joined(separator: ", "))"
  }

  /// The command that goes on with this import.
  private var resumeCommand: String {
    let words = CommandLine.arguments.dropFirst().filter { $0 != "--resume" }
    return (["sheaf"] + words.map(Self.quoted) + ["--resume"]).joined(separator: " ")
  }

  private static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
        || "-_./,:=%+@".utf8.contains(byte)
    }
    if plain, !word.isEmpty { return word }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
      + "'"
  }
}
