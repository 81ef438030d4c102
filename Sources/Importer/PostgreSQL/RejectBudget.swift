import Base

/// How many records may still be rejected, by parsers and by the server together.
///
/// Thread rule: any thread.
final class RejectBudget: @unchecked Sendable {
  // @unchecked: everything is guarded by `lock`.
  private let lock = Lock()
  private let limit: ImportOptions.RejectLimit
  /// Of parsers, and of ranges that were committed before.
  private var own: Int
  /// What the server refused of each range: set anew by each try.
  private var refused: [Int: Int] = [:]
  private var first: Reject?

  /// - Parameter rejected: in other inputs, and earlier runs of this one.
  init(_ limit: ImportOptions.RejectLimit, rejected: Int) {
    self.limit = limit
    own = rejected
  }

  /// Adds rejects of the parsers.
  ///
  /// - Returns: whether they are too many now.
  func add(_ rejects: [Reject]) -> Bool {
    lock.withLock {
      own += rejects.count
      if first == nil { first = rejects.first }
      return isExceeded
    }
  }

  /// Sets how many records of a range the server has refused.
  ///
  /// - Returns: whether they are too many now.
  func set(_ rejects: [Reject], ofRange firstRecord: Int) -> Bool {
    lock.withLock {
      refused[firstRecord] = rejects.count
      if first == nil { first = rejects.first }
      return isExceeded
    }
  }

  private var isExceeded: Bool {
    if case .count(let most) = limit { return count > most }
    return false
  }

  private var count: Int { own + refused.values.reduce(0, +) }

  /// How many there are.
  var total: Int { lock.withLock { count } }

  /// The first that was told.
  var firstReject: Reject? { lock.withLock { first } }

  /// Whether they are too large a share of the records that were read.
  func exceedsShare(ofRecords records: Int) -> Bool {
    guard case .share(let share) = limit else { return false }
    return Double(total) > share * Double(records)
  }
}
