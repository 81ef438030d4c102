/// The destination of a dry run with neither a file nor a key: drops all batches.
final class NoDestination: Destination {
  let bytesWritten = 0

  func begin() throws {}
  func append(_ rows: BatchRows) {}
  func hasConflicts(_ rows: KeyedRows) -> Bool { false }
  func hasLargeIntegers(inColumn identifier: UInt32) -> Bool { false }

  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome {
    KeyedOutcome(imported: range.count)
  }

  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome {
    .committed
  }
  func commitJoined() {}
  func rollBack() {}
}
