/// Sends the ranges of a claimed input to the server: skips ranges that the server has, lets lanes commit the
/// others, and renews the lease meanwhile.
///
/// Thread rule: used by one thread, which hands over ranges in the order of the input.
final class ClaimedLoad {
  private let claim: InputClaim
  private let claims: InputClaims
  private let team: LaneTeam
  private let keeper: LeaseKeeper
  /// The counts that the server had of the input when it was claimed.
  private let before: RowCounts
  /// The server's ranges after the first missing one, without those that were handed over, in the order of
  /// the input.
  private var stored: ArraySlice<StoredRange>
  /// The number of ranges that the server had, or that were handed to lanes.
  private var rangeCount: Int

  /// - Parameter lanes: the maximum number of connections.
  /// - Throws: `SystemError` when the system has no room for a thread.
  init(
    _ plan: LoadPlan, _ claim: InputClaim, _ claims: InputClaims, lanes: Int, _ budget: RejectBudget
  ) throws {
    (self.claim, self.claims) = (claim, claims)
    (before, rangeCount) = (claim.counts, claim.ranges.count)
    stored = claim.ranges[claim.prefixCount...]
    team = LaneTeam(plan, lanes: lanes, budget, acknowledged: claim.ranges.count)
    keeper = try LeaseKeeper(
      plan.target, claims.renewal(claim.input), seconds: claims.leaseSeconds)
  }

  /// The counts that this process has committed.
  var counts: RowCounts { team.counts }
  /// The number of ranges that this process has committed.
  var committed: Int { team.committed }
  /// The counts that the server has of the input, whichever process committed them.
  var allCounts: RowCounts {
    var counts = before
    counts += team.counts
    return counts
  }

  /// True when the server has the range that begins with this record, the next one to be handed over.
  func has(_ firstRecord: Int) -> Bool { stored.first?.firstRecord == firstRecord }

  /// Hands a range to a lane, unless the server has it.
  ///
  /// - Parameter shouldStop: called while the call waits for a lane; true ends the wait.
  /// - Returns: false when `shouldStop` returned true and the range will not be committed.
  /// - Throws: as `LaneTeam.submit`; `ImportError.inputChanged` when the server's range has other bytes.
  func submit(_ range: CopyRange, shouldStop: () -> Bool) throws -> Bool {
    if let there = stored.first, there.firstRecord < range.firstRecord + range.recordCount {
      guard there.isOf(range) else {
        throw ImportError.inputChanged(
          path: claim.input.name,
          reason:
            "records from \(there.firstRecord) on are in the table with other bytes than it has now"
        )
      }
      stored.removeFirst()
      return true
    }
    if try !team.submit(range, shouldStop: shouldStop) { return false }
    rangeCount += 1
    return true
  }

  /// Checks that the server has no range beyond the end of the input. Call it before `submit` of the last
  /// range: a shorter range than the whole input has there would be in the way of that one.
  ///
  /// - Parameter last: the last range; nil when the input ended with the one before.
  /// - Throws: `ImportError.inputChanged`.
  func checkEnd(_ last: CopyRange?) throws {
    let beyond = stored.drop { $0.firstRecord == last?.firstRecord }
    guard let first = beyond.first, let end = beyond.last else { return }
    throw ImportError.inputChanged(
      path: claim.input.name,
      reason:
        "it ends before records \(first.firstRecord) to \(end.firstRecord + end.counts.records - 1), which "
        + "are in the table already: give it whole")
  }

  /// Waits until all ranges that were handed over are committed, and ends the lanes.
  ///
  /// - Throws: the first failure of a lane.
  func finish(shouldStop: () -> Bool) throws { try team.finish(shouldStop: shouldStop) }

  /// Records that the whole input is in the table.
  ///
  /// - Parameter end: the end of the input, and the checksum of all of it.
  /// - Throws: as `InputClaims.finish`.
  func end(at end: (byte: Int, checksum: UInt64)) throws {
    try claims.finish(claim, ranges: rangeCount, allCounts, end: end)
  }

  /// Ends the renewals of the lease.
  func stop() { keeper.stop() }
}

@available(*, unavailable)
extension ClaimedLoad: Sendable {}
