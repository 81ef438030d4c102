import TestSupport

@testable import Engine

/// Runs a scenario under many schedules: all of those that deviate from the usual one at few decisions, then
/// random ones.
///
/// Most defects of this kind need few deviations (Musuvathi and Qadeer, "Iterative context
/// bounding", 2007; Emmi and others, "Delay-bounded scheduling", 2011). A thread is interrupted
/// only before a step that another thread's later step has to do with: the order of others makes no
/// difference (Flanagan and Godefroid, "Dynamic partial-order reduction", 2005). What follows a
/// state is tried once, however it was reached. Random schedules interrupt threads anywhere, or
/// give threads priorities and lower one at a few random steps (Burckhardt and others, "A
/// randomized scheduler with probabilistic guarantees of finding bugs", 2010).
struct Exploration {
  /// One run: the threads, which begin at once, and what to look at when all have ended.
  struct Scenario {
    var threads: [@Sendable () -> Void]
    /// The first thing that is wrong; nil when all is well.
    var problem: () throws -> String?
  }

  /// A schedule that went wrong.
  struct Failure: CustomStringConvertible {
    let problem: String
    let schedule: Schedule
    let runs: Int
    var description: String {
      "\(problem)\n  after \(runs) runs; to run it again: SHEAF_SCHEDULE=\(schedule)"
    }
  }

  /// A decision on the way that the search has taken, and what is known of it.
  private struct Node {
    let candidates: [Int]
    /// Whether the running thread could go on, and nothing takes long.
    let interrupts: Bool
    let usual: Int
    var chosen: Int
    /// Those who had their turn here in earlier runs, the chosen one included.
    var tried: Set<Int>
    /// The step that comes next, unless another thread goes first; nil when the running one has to wait.
    var step: Scheduler.Place?
    /// How often the way here was not the usual one.
    let deviations: Int
    /// Whether the search has been in this state before, with as many deviations left.
    let isKnown: Bool
  }

  private let make: () throws -> Scenario
  /// Whether a thread may be interrupted between the parts of steps too, as between the words of a version.
  private let isFine: Bool
  private(set) var runs = 0
  /// The most decisions of a run so far.
  private(set) var longest = 0
  /// Steps that some other thread's step in some run has to do with.
  private var matters: Set<Scheduler.Place> = []

  init(isFine: Bool = false, _ make: @escaping () throws -> Scenario) {
    self.isFine = isFine
    self.make = make
  }

  private final class Kept {
    let scenario: Scenario
    init(_ scenario: Scenario) { self.scenario = scenario }
  }

  private mutating func run(
    _ plan: @escaping Scheduler.Plan
  ) throws -> (outcome: Scheduler.Outcome, problem: String?) {
    let scenario = try make()
    let outcome = try Scheduler(isFine: isFine, plan: plan).run(scenario.threads)
    runs += 1
    longest = max(longest, outcome.decisions.count)
    // Threads that are stuck have their parts in hand yet: to release them could wait for these threads.
    if outcome.stuck != nil { _ = Unmanaged.passRetained(Kept(scenario)) }
    return (outcome, try outcome.stuck ?? scenario.problem())
  }

  private func failure(_ problem: String, _ outcome: Scheduler.Outcome) -> Failure {
    Failure(problem: problem, schedule: Schedule(outcome.decisions), runs: runs)
  }

  /// One schedule again.
  mutating func replay(_ schedule: Schedule) throws -> Failure? {
    let (outcome, problem) = try run(schedule.choice)
    if let problem { return failure(problem, outcome) }
    // Who changed the tree since, or runs another test, must not take silence for a mend.
    let count = outcome.decisions.count
    guard let expected = schedule.length, expected != count else { return nil }
    return failure(
      "the schedule is of another scenario: it had \(expected) decisions, and now has \(count)",
      outcome)
  }

  /// Runs a random schedule, and the same one again by what would be printed of it.
  ///
  /// - Returns: where the second run is another one; nil: nowhere.
  mutating func difference(seed: UInt64) throws -> String? {
    var random = SplitMix64(seed: seed)
    let (first, _) = try run { moment in
      Int.random(in: 0..<4, using: &random) > 0
        ? moment.usual : moment.candidates.randomElement(using: &random) ?? moment.usual
    }
    guard let schedule = Schedule(Schedule(first.decisions, most: .max).description) else {
      return "the schedule cannot be read"
    }
    let (second, _) = try run(schedule.choice)
    func isSame(_ one: Scheduler.Step, _ other: Scheduler.Step) -> Bool {
      (one.thread, one.number, one.changes) == (other.thread, other.number, other.changes)
        && one.decision == other.decision
    }
    if let step = zip(first.steps, second.steps).enumerated().first(where: {
      !isSame($0.element.0, $0.element.1)
    }) {
      return "step \(step.offset) is \(step.element.0), then \(step.element.1)"
    }
    guard first.steps.count == second.steps.count, first.stuck == second.stuck else {
      return "\(first.steps.count) steps, then \(second.steps.count)"
    }
    return nil
  }

  /// All schedules with at most so many deviations.
  ///
  /// - Parameters:
  ///   - deviations: the bound.
  ///   - isTimeUp: ends the search before.
  /// - Returns: what went wrong; whether there was nothing left to try.
  mutating func exhaust(deviations: Int, isTimeUp: () -> Bool) throws -> (
    failure: Failure?, isComplete: Bool
  ) {
    while true {
      let known = matters.count
      let (failure, isComplete) = try search(deviations, isTimeUp)
      // What was found to matter late may have mattered early.
      if failure != nil || !isComplete || matters.count == known { return (failure, isComplete) }
    }
  }

  private mutating func search(_ bound: Int, _ isTimeUp: () -> Bool) throws -> (
    failure: Failure?, isComplete: Bool
  ) {
    var path: [Node] = []
    var states: [UInt64: Int] = [:]
    while true {
      let prefix = path.map(\.chosen)
      let (outcome, problem) = try run {
        $0.number < prefix.count ? prefix[$0.number] : $0.usual
      }
      if let problem { return (failure(problem, outcome), false) }
      for (node, decision) in zip(path, outcome.decisions)
      where node.candidates != decision.candidates {
        return (failure("the scenario is another each time", outcome), false)
      }
      extend(&path, outcome, &states)
      // The deepest first.
      while let node = path.last {
        if let next = next(node, bound) {
          path[path.count - 1].chosen = next
          path[path.count - 1].tried.insert(next)
          break
        }
        path.removeLast()
      }
      if path.isEmpty { return (nil, true) }
      if isTimeUp() { return (nil, false) }
    }
  }

  /// Who has not been tried yet and may go on here.
  private func next(_ node: Node, _ bound: Int) -> Int? {
    if node.isKnown || node.deviations >= bound { return nil }
    if node.interrupts {
      guard let step = node.step, matters.contains(step) else { return nil }
    }
    return node.candidates.first { !node.tried.contains($0) }
  }

  private mutating func extend(
    _ path: inout [Node], _ outcome: Scheduler.Outcome, _ states: inout [UInt64: Int]
  ) {
    var deviations = path.last.map(\.deviations) ?? 0
    if let node = path.last, node.chosen != node.usual { deviations += 1 }
    for decision in outcome.decisions.dropFirst(path.count) {
      let isKnown = states[decision.state].map { $0 <= deviations } ?? false
      if !isKnown { states[decision.state] = deviations }
      path.append(
        Node(
          candidates: decision.candidates, interrupts: decision.interrupts,
          usual: decision.usual, chosen: decision.chosen, tried: [decision.chosen],
          deviations: deviations, isKnown: isKnown))
    }
    // Who looks at or changes each object later.
    var later: [UInt: (looks: Set<Int>, changes: Set<Int>)] = [:]
    for step in outcome.steps.reversed() {
      var known = later[step.object] ?? ([], [])
      if let decision = step.decision {
        let place = Scheduler.Place(thread: step.thread, number: step.number)
        path[decision].step = place
        let others = step.changes ? known.looks.union(known.changes) : known.changes
        if others.contains(where: { $0 != step.thread }) { matters.insert(place) }
      }
      if step.changes { known.changes.insert(step.thread) } else { known.looks.insert(step.thread) }
      later[step.object] = known
    }
  }

  /// One schedule that interrupts threads at about so many random steps that other threads' steps have to do
  /// with, and lets the interrupted one go on soon or late; where nobody is interrupted, anybody goes on.
  mutating func scattered(seed: UInt64, interruptions: Int) throws -> Failure? {
    var random = SplitMix64(seed: seed)
    // Before anything is known, every step counts.
    let matters = matters
    let count = matters.isEmpty ? max(8, longest) : matters.count
    // Until which decision a thread is left out, as long as others can go on.
    var left: [Int: Int] = [:]
    let (outcome, problem) = try run { moment in
      func any(but running: Int?) -> Int {
        let others = moment.candidates.filter { $0 != running }
        let present = others.filter { left[$0, default: 0] <= moment.number }
        return (present.isEmpty ? others : present).randomElement(using: &random) ?? moment.usual
      }
      guard let place = moment.interrupted else { return any(but: moment.idle) }
      guard matters.isEmpty || matters.contains(place),
        Int.random(in: 0..<count, using: &random) < interruptions
      else { return moment.usual }
      left[place.thread] = moment.number + Int.random(in: 0..<count, using: &random)
      return any(but: place.thread)
    }
    return problem.map { failure($0, outcome) }
  }

  /// All schedules in which one thread is interrupted once, at a step that another thread's step has to do with,
  /// and then goes on only when the others have ended or wait for it. With few deviations, it goes on as soon as
  /// another one waits for anything.
  mutating func postponed(isTimeUp: () -> Bool) throws -> Failure? {
    for place in matters.sorted(by: { ($0.thread, $0.number) < ($1.thread, $1.number) }) {
      if isTimeUp() { return nil }
      var isLeft = false
      // Those who have only looked again since anybody did anything.
      var idle: Set<Int> = []
      let (outcome, problem) = try run { moment in
        if let thread = moment.idle { idle.insert(thread) } else { idle = [] }
        if moment.interrupted == place { isLeft = true }
        guard isLeft else { return moment.usual }
        if moment.usual != place.thread, !idle.contains(moment.usual) { return moment.usual }
        return moment.candidates.first { $0 != place.thread && !idle.contains($0) } ?? place.thread
      }
      if let problem { return failure(problem, outcome) }
    }
    return nil
  }

  /// One schedule by priorities, of which some are lowered at random.
  mutating func prioritized(seed: UInt64, changes: Int) throws -> Failure? {
    var random = SplitMix64(seed: seed)
    var priorities: [Int: Int64] = [:]
    let length = max(8, longest)
    let lowered = Set((0..<changes).map { _ in Int.random(in: 0..<length, using: &random) })
    var lowest = Int64(0)
    let (outcome, problem) = try run { moment in
      let candidates = moment.candidates
      for candidate in candidates where priorities[candidate] == nil {
        priorities[candidate] = Int64.random(in: 1 ... .max, using: &random)
      }
      let highest = {
        candidates.max { priorities[$0] ?? 0 < priorities[$1] ?? 0 } ?? candidates[0]
      }
      // Who only waits would wait for ever for those below.
      if let place = lowered.contains(moment.number) ? highest() : moment.idle {
        priorities[place] = lowest
        lowest &-= 1
      }
      return highest()
    }
    return problem.map { failure($0, outcome) }
  }
}
