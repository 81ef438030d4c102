import Base
import Engine

extension ImportRun {
  /// The steps after everything is durable: the file's size, and a compaction if one is due.
  mutating func finish(_ database: Database) throws {
    do {
      try tidy(database)
    } catch let error as EngineError where !report.isInterrupted {
      switch error {
      // Committed batches may be lost.
      case .poisoned, .displaced: throw error
      // The error must not suggest repeating the import, which would add its records again.
      default: throw ImportError.notTidied(cause: error)
      }
    }
  }

  private mutating func tidy(_ database: Database) throws {
    var use = try database.trimAndTellUse()
    report.flusherSeconds = Double(database.flusherNanoseconds) / 1e9
    report.bytesWritten = database.bytesWritten
    report.compaction = CompactionResult(
      decision: options.compaction.mode == .never ? .disabled : .notNeeded, before: use.total,
      after: use.total)
    if report.isInterrupted {
      // The user wants the program to end.
      report.compaction = CompactionResult(
        decision: .disabled, before: use.total, after: use.total, reason: "interrupted")
    } else if options.compaction.shouldCompact(total: use.total, used: use.needed) {
      let began = System.monotonicNanoseconds
      do {
        database.turnWaiting = options.waiting
        report.compaction = try compact(database)
      } catch EngineError.busy(_, let reason) {
        report.compaction = CompactionResult(
          decision: .skippedInUse, before: use.total, after: use.total, reason: reason)
      } catch EngineError.cancelled {
        report.isInterrupted = true
        report.compaction = CompactionResult(
          decision: .disabled, before: use.total, after: use.total, reason: "interrupted")
      }
      report.compactionSeconds = Double(System.monotonicNanoseconds - began) / 1e9
      use = try database.fileUse()
    }
    report.file = use
    report.objects = try existingTable(database)?.count ?? 0
    report.pending = try pending(database)
  }

  /// Replaces the file if no other process has it open; otherwise compacts it in use.
  private mutating func compact(_ database: Database) throws -> CompactionResult {
    let alone = try database.compact(shouldStop: options.shouldStop)
    switch alone.decision {
    case .skippedInUse, .skippedNoSpace, .skippedOtherNames, .skippedNotOwner:
      let result = try database.compactInUse(
        waiting: Waiting(seconds: Self.secondsForReaders), shouldStop: options.shouldStop)
      if result.isStopped { report.isInterrupted = true }
      return result
    default: return alone
    }
  }

  /// A compaction in use waits only this long for readers, since the caller of the import waits.
  private static let secondsForReaders = 1.0
}
