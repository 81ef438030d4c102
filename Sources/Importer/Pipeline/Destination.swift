import Engine

/// A destination for batches. The embedded engine is the default one; nothing before the writer depends on
/// which it is.
///
/// A batch is `begin`, any number of `append`, `commit`: all of it and its checkpoint become one version, or
/// nothing does. Thread rule: used by the writer's thread only.
protocol Destination: AnyObject {
  /// Starts a batch.
  func begin() throws
  /// Adds rows to the batch.
  func append(_ rows: BatchRows) throws
  /// Whether any of the rows has a key of an existing object or of a row before it.
  func hasConflicts(_ rows: KeyedRows) throws -> Bool
  /// Adds some rows of a chunk to the batch, according to their keys and the policy for conflicts.
  ///
  /// - Parameters:
  ///   - summarizes: whether the outcome has summaries of the columns of the rows that went into the table.
  ///   - isTentative: whether nothing is done when a row would have to be rejected.
  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome
  /// Whether a column of integers has larger ones than a double holds.
  ///
  /// - Parameter identifier: the column's permanent number.
  func hasLargeIntegers(inColumn identifier: UInt32) throws -> Bool
  /// Makes the batch and its checkpoint one version.
  ///
  /// - Parameter mayJoin: whether it may share the version with the following batches, up to `commitJoined`.
  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome
  /// Makes a version of the joined batches.
  func commitJoined() throws
  /// Drops everything that is not committed.
  func rollBack()
  /// Bytes written so far.
  var bytesWritten: Int { get }
}

/// The state of a complete batch.
enum BatchOutcome {
  case committed
  /// It will be committed with those after it, or by `commitJoined`.
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
