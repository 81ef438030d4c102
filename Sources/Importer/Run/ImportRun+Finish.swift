import Base
import Engine

extension ImportRun {
  /// What follows when everything is committed and durable: the file's size, and a compaction if
  /// there is to be one.
  mutating func finish(_ database: Database) throws {
    do {
      try tidy(database)
    } catch let error as EngineError where !report.isInterrupted {
      switch error {
      // What was committed may be lost.
      case .poisoned, .displaced: throw error
      // Whoever repeats the import does it twice.
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
      // Somebody is waiting for the end.
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

  /// In place of the file where nobody else has it open, or else beside those who have.
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

  /// Whoever waits for the import shall not wait for readers.
  private static let secondsForReaders = 1.0
}
