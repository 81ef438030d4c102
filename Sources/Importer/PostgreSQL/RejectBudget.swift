import Base

/// Counts the rejects of parsers and server together against the limit.
///
/// Thread rule: any thread.
final class RejectBudget: @unchecked Sendable {
  // @unchecked: everything is guarded by `lock`.
  private let lock = Lock()
  private let limit: ImportOptions.RejectLimit
  /// All rejects: of parsers and of the server, of other inputs and of earlier runs.
  private var count: Int
  /// The number of rows of each range that the server refused, if it did; each try replaces it.
  private var refused: [Int: Int] = [:]
  private var first: Reject?

  /// - Parameter rejected: the number of rejects in other inputs, and in earlier runs of this one.
  init(_ limit: ImportOptions.RejectLimit, rejected: Int) {
    self.limit = limit
    count = rejected
  }

  /// Adds rejects of the parsers.
  ///
  /// - Returns: true when there are too many now.
  func add(_ rejects: [Reject]) -> Bool {
    lock.withLock {
      count += rejects.count
      if first == nil { first = rejects.first }
      return isExceeded
    }
  }

  /// Sets the rejects of a range that the server has refused.
  ///
  /// - Returns: true when there are too many now.
  func set(_ rejects: [Reject], ofRange firstRecord: Int) -> Bool {
    lock.withLock {
      count += rejects.count - (refused[firstRecord] ?? 0)
      refused[firstRecord] = rejects.isEmpty ? nil : rejects.count
      if first == nil { first = rejects.first }
      return isExceeded
    }
  }

  private var isExceeded: Bool {
    if case .count(let most) = limit { return count > most }
    return false
  }

  /// The number of rejects.
  var total: Int { lock.withLock { count } }

  /// The first reject that was added.
  var firstReject: Reject? { lock.withLock { first } }

  /// True when the rejects are too large a share of the records read.
  func exceedsShare(ofRecords records: Int) -> Bool {
    guard case .share(let share) = limit else { return false }
    return Double(total) > share * Double(records)
  }
}
