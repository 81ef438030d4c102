import Engine

/// Where batches go. The embedded engine is the default one; nothing before the writer knows which.
///
/// A batch is `begin`, any number of `append`, `commit`: all of it and its checkpoint become one
/// version, or nothing does. Thread rule: used by the writer's thread only.
protocol Destination: AnyObject {
  /// Starts a batch.
  func begin() throws
  /// Adds rows to the batch.
  func append(_ rows: BatchRows) throws
  /// Whether any of the rows has a key that is there already, or that a row before it has.
  func hasConflicts(_ rows: KeyedRows) throws -> Bool
  /// Adds some rows of a chunk to the batch, each as its key and the policy for conflicts say.
  ///
  /// - Parameters:
  ///   - summarizes: whether the outcome is to say what the columns of the rows look like that went into
  ///     the table.
  ///   - isTentative: whether nothing is to be done when a row would have to be rejected.
  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome
  /// Whether a column of integers has larger ones than a double holds.
  ///
  /// - Parameter identifier: the column's permanent number.
  func hasLargeIntegers(inColumn identifier: UInt32) throws -> Bool
  /// Makes the batch and its checkpoint one version.
  ///
  /// - Parameter mayJoin: whether it may become one together with the batches that follow, up to
  /// `commitJoined`.
  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome
  /// Makes a version of the batches that were to be joined by others.
  func commitJoined() throws
  /// Forgets what is not committed.
  func rollBack()
  /// Bytes written so far.
  var bytesWritten: Int { get }
}

/// What has become of a whole batch.
enum BatchOutcome {
  case committed
  /// It is going to be, with those after it, or by `commitJoined`.
  case joins
  /// The import commits it, if all goes well.
  case waits
}

/// A part of a batch.
enum BatchRows {
  case encoded(EncodedCluster)
  /// Some rows of a chunk's spellings.
  case spelled(SpelledRows, Range<Int>)
}
