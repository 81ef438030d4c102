import Engine

/// A destination for batches. The embedded engine is the default; nothing before the writer depends on the
/// choice.
///
/// A batch is `begin`, any number of `append`, `commit`: all of it and its checkpoint become one version, or
/// nothing does.
///
/// Thread rule: confined to the writer's thread.
protocol Destination: AnyObject {
  /// Starts a batch.
  func begin() throws
  /// Adds rows to the batch.
  func append(_ rows: BatchRows) throws
  /// Returns whether any of the rows has the key of an existing object or of an earlier row.
  func hasConflicts(_ rows: KeyedRows) throws -> Bool
  /// Adds some rows of a chunk to the batch, by their keys and the policy for conflicts.
  ///
  /// - Parameters:
  ///   - summarizes: whether the outcome has summaries of the columns of the rows that went into the table.
  ///   - isTentative: whether to do nothing if a row would have to be rejected.
  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome
  /// Returns whether a column of integers has larger ones than a double can represent.
  ///
  /// - Parameter identifier: the column's permanent number.
  func hasLargeIntegers(inColumn identifier: UInt32) throws -> Bool
  /// Makes the batch and its checkpoint one version.
  ///
  /// - Parameter mayJoin: whether the batch may share the version with the following batches, up to
  ///   `commitJoined`.
  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome
  /// Commits the joined batches as one version.
  func commitJoined() throws
  /// Discards everything that is not committed.
  func rollBack()
  /// Bytes written so far.
  var bytesWritten: Int { get }
}

/// The state of a complete batch.
enum BatchOutcome {
  case committed
  /// The batch will be committed with those after it, or by `commitJoined`.
  case joins
  /// The import will commit it at its end.
  case waits
}

/// A part of a batch.
enum BatchRows {
  case encoded(EncodedCluster)
  /// Some rows of a chunk's spellings.
  case spelled(SpelledRows, Range<Int>)
}
