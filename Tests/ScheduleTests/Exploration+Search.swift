import Base
import TestSupport

@testable import Engine

/// The search of the tests: all schedules with few deviations, then random ones.
extension Exploration {
  /// How far a search goes.
  private struct Reach {
    let bound: Int
    let random: Int
    /// The time for the whole search.
    let seconds: UInt64
    let isLong: Bool
    let isTold: Bool

    init(bound: Int, random: Int) {
      isLong = Effort.isLong
      isTold = isLong || System.environment("SHEAF_FIGURES") != nil
      self.bound = isLong ? 3 : bound
      self.random = isLong ? 100 * random : Effort.isShort ? (random + 1) / 2 : random
      seconds = System.environment("SHEAF_SECONDS").flatMap { UInt64($0) } ?? 600
    }
  }

  /// What is wrong in a schedule; nil if nothing was found.
  ///
  /// Tries all schedules with the given number of deviations; if `postpones` (for threads that wait
  /// instead of polling), those in which an interrupted thread goes on last; then random ones, half of
  /// them with SHEAF_SHORT. With SHEAF_LONG=1 it tries all with up to three deviations and a hundred times
  /// as many random ones, within ten minutes or SHEAF_SECONDS, a third of which is for the random ones; then,
  /// and with SHEAF_FIGURES, it prints the extent of the search. With SHEAF_SCHEDULE it runs the schedule
  /// that a failure has printed.
  static func failure(
    _ name: String = #function, isFine: Bool = false, bound: Int = 1, postpones: Bool = false,
    random: Int, seed: UInt64 = 0, _ make: @escaping () throws -> Scenario
  ) throws -> Failure? {
    var exploration = Exploration(isFine: isFine, make)
    if let text = System.environment("SHEAF_SCHEDULE"), let schedule = Schedule(text) {
      return try exploration.replay(schedule)
    }
    let reach = Reach(bound: bound, random: random)
    let began = System.monotonicNanoseconds
    func isOver(_ part: Double) -> Bool {
      reach.isLong
        && Double(System.monotonicNanoseconds - began) > Double(reach.seconds) * part * 1e9
    }
    for bound in 0...reach.bound {
      let (from, runs) = (System.monotonicNanoseconds, exploration.runs)
      let (failure, isComplete) = try exploration.exhaust(deviations: bound) { isOver(2 / 3) }
      if reach.isTold {
        tell(name, "\(bound)", exploration.runs - runs, since: from, isComplete ? "all" : "part")
      }
      if let failure { return failure }
      if !isComplete { break }
    }
    if postpones {
      let (from, runs) = (System.monotonicNanoseconds, exploration.runs)
      let failure = try exploration.postponed { isOver(2 / 3) }
      if reach.isTold { tell(name, "last", exploration.runs - runs, since: from, "all") }
      if let failure { return failure }
    }
    let (from, runs) = (System.monotonicNanoseconds, exploration.runs)
    for number in 0..<reach.random where !isOver(1) {
      let seed = seed &+ UInt64(number)
      let failure =
        number % 4 == 3
        ? try exploration.prioritized(seed: seed, changes: 3)
        : try exploration.scattered(seed: seed, interruptions: [2, 6, 14][number % 4])
      if let failure { return failure }
    }
    if reach.isTold { tell(name, "random", exploration.runs - runs, since: from, "random") }
    return nil
  }

  /// Prints a line of the table in `bench-results/*-schedules`.
  private static func tell(
    _ name: String, _ bound: String, _ runs: Int, since: UInt64, _ what: String
  ) {
    let tenths = (System.monotonicNanoseconds - since) / 100_000_000
    print("| \(name) | \(bound) | \(runs) | \(tenths / 10).\(tenths % 10) | \(what) |")
  }
}
