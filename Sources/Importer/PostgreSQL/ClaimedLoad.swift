/// The ranges of a claimed input on their way onto the server: those that it has are passed over, lanes
/// commit the others, and signs of life keep the claim meanwhile.
///
/// Thread rule: used by one thread, which hands over ranges in the order of the input.
final class ClaimedLoad {
  private let claim: InputClaim
  private let claims: InputClaims
  private let team: LaneTeam
  private let keeper: LeaseKeeper
  /// What the server had of the input when it was claimed.
  private let before: RowCounts
  /// What the server has behind the first range that is missing, by their first records.
  private var stored: [Int: StoredRange]
  /// Those that the server has, and those that were handed over.
  private var rangeCount: Int

  /// - Parameter lanes: the most connections.
  /// - Throws: `SystemError` when there is no room for a thread.
  init(
    _ plan: LoadPlan, _ claim: InputClaim, _ claims: InputClaims, lanes: Int, _ budget: RejectBudget
  ) throws {
    (self.claim, self.claims) = (claim, claims)
    (before, rangeCount) = (claim.counts, claim.ranges.count)
    stored = Dictionary(
      claim.ranges[claim.prefixCount...].map { ($0.firstRecord, $0) },
      uniquingKeysWith: { first, _ in first })
    team = LaneTeam(plan, lanes: lanes, budget, acknowledged: claim.ranges.count)
    keeper = try LeaseKeeper(
      plan.target, claims.renewal(claim.input), seconds: claims.leaseSeconds)
  }

  /// What this process has committed.
  var counts: RowCounts { team.counts }
  /// How many ranges that is.
  var committed: Int { team.committed }
  /// What the server has of the input, whoever committed it.
  var allCounts: RowCounts {
    var counts = before
    counts += team.counts
    return counts
  }

  /// Whether the server has the range that begins there.
  func has(_ firstRecord: Int) -> Bool { stored[firstRecord] != nil }

  /// Hands a range over, unless the server has it.
  ///
  /// - Parameter shouldStop: asked while it waits.
  /// - Returns: false when it is not going to be committed since `shouldStop` said so.
  /// - Throws: as `LaneTeam.submit`; `ImportError.inputChanged` where the server has other bytes of it.
  func submit(_ range: CopyRange, shouldStop: () -> Bool) throws -> Bool {
    if let there = stored.removeValue(forKey: range.firstRecord) {
      guard there.isOf(range) else {
        throw ImportError.inputChanged(
          path: claim.input.name,
          reason:
            "records from \(range.firstRecord) on are in the table with other bytes than it has now"
        )
      }
      return true
    }
    if try !team.submit(range, shouldStop: shouldStop) { return false }
    rangeCount += 1
    return true
  }

  /// Waits until everything that was handed over is committed, and ends the lanes.
  ///
  /// - Throws: what a lane has failed with.
  func finish(shouldStop: () -> Bool) throws { try team.finish(shouldStop: shouldStop) }

  /// Says that the input is in the table, all of it.
  ///
  /// - Parameter end: where it ends, and the checksum of all of it.
  /// - Throws: as `InputClaims.finish`.
  func end(at end: (byte: Int, checksum: UInt64)) throws {
    try claims.finish(claim, ranges: rangeCount, allCounts, end: end)
  }

  /// Ends the signs of life.
  func stop() { keeper.stop() }
}

@available(*, unavailable)
extension ClaimedLoad: Sendable {}
