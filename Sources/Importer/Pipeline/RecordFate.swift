/// The result for a record that was read and not rejected.
enum RecordFate {
  case imported
  case updated
  case skipped
  case unchanged
}

/// Counts of records by result.
protocol RecordCounts {
  var imported: Int { get set }
  var updated: Int { get set }
  var skipped: Int { get set }
  var unchanged: Int { get set }
}

extension RecordCounts {
  subscript(fate: RecordFate) -> Int {
    get {
      switch fate {
      case .imported: imported
      case .updated: updated
      case .skipped: skipped
      case .unchanged: unchanged
      }
    }
    set {
      switch fate {
      case .imported: imported = newValue
      case .updated: updated = newValue
      case .skipped: skipped = newValue
      case .unchanged: unchanged = newValue
      }
    }
  }

  /// Moves records from one count to another, as far as they are counted here.
  ///
  /// - Returns: the number of records moved.
  mutating func move(_ most: Int, _ move: MergeOutcome.Move) -> Int {
    let count = min(most, max(0, self[move.from]))
    self[move.from] -= count
    self[move.to] += count
    return count
  }
}

extension ImportReport: RecordCounts {}
extension ImportReport.FileReport: RecordCounts {}
extension RunEntry.Counts: RecordCounts {}
