import TestSupport

@testable import Engine

/// Runs a scenario under many schedules: all that deviate from the usual one at a few decisions, then
/// random ones.
///
/// Few deviations are enough for most defects of this kind (Musuvathi and Qadeer, "Iterative context
/// bounding", 2007; Emmi and others, "Delay-bounded scheduling", 2011). A thread is interrupted only
/// before a step that depends on a later step of another thread; the order of the others makes no
/// difference (Flanagan and Godefroid, "Dynamic partial-order reduction", 2005). Each state is
/// continued once, however it was reached. Random schedules interrupt threads anywhere, or give threads
/// priorities and lower one at a few random steps (Burckhardt and others, "A randomized scheduler with
/// probabilistic guarantees of finding bugs", 2010).
struct Exploration {
  /// A run: threads that begin at once, and what is checked when all have ended.
  struct Scenario {
    var threads: [@Sendable () -> Void]
    /// The first problem; nil if there is none.
    var problem: () throws -> String?
  }

  /// A schedule in which something went wrong.
  struct Failure: CustomStringConvertible {
    let problem: String
    let schedule: Schedule
    let runs: Int
    var description: String {
      "\(problem)\n  after \(runs) runs; to run it again: SHEAF_SCHEDULE=\(schedule)"
    }
  }

  /// A decision on the current path of the search, and what is known of it.
  private struct Node {
    let candidates: [Int]
    /// Whether the running thread could go on and no step takes long.
    let interrupts: Bool
    let usual: Int
    var chosen: Int
    /// Threads that had their turn here in earlier runs, including the chosen one.
    var tried: Set<Int>
    /// The running thread's next step, before which another thread may go; nil if it has to wait.
    var step: Scheduler.Place?
    /// The number of deviations on the path to this decision.
    let deviations: Int
    /// Whether the search was in this state before with as many deviations left.
    let isKnown: Bool
  }

  private let make: () throws -> Scenario
  /// Whether a thread may also be interrupted between the parts of a step, as between the words of a
  /// version.
  private let isFine: Bool
  private(set) var runs = 0
  /// The number of decisions of the longest run so far.
  private(set) var longest = 0
  /// Steps on which another thread's step in some run depends.
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
    // Stuck threads still have their objects: releasing these could wait for the threads.
    if outcome.stuck != nil { _ = Unmanaged.passRetained(Kept(scenario)) }
    return (outcome, try outcome.stuck ?? scenario.problem())
  }

  private func failure(_ problem: String, _ outcome: Scheduler.Outcome) -> Failure {
    Failure(problem: problem, schedule: Schedule(outcome.decisions), runs: runs)
  }

  /// Runs a schedule again.
  mutating func replay(_ schedule: Schedule) throws -> Failure? {
    let (outcome, problem) = try run(schedule.choice)
    if let problem { return failure(problem, outcome) }
    // After a change of the tree, or in another test, the schedule is another one: silence is no sign
    // of a repair.
    let count = outcome.decisions.count
    guard let expected = schedule.length, expected != count else { return nil }
    return failure(
      "the schedule is of another scenario: it had \(expected) decisions, and now has \(count)",
      outcome)
  }

  /// Runs a random schedule, then the same one from its printed form.
  ///
  /// - Returns: where the second run differs; nil: nowhere.
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

  /// Runs all schedules with at most as many deviations.
  ///
  /// - Parameters:
  ///   - deviations: the bound.
  ///   - isTimeUp: ends the search early.
  /// - Returns: what went wrong, and whether nothing was left to try.
  mutating func exhaust(deviations: Int, isTimeUp: () -> Bool) throws -> (
    failure: Failure?, isComplete: Bool
  ) {
    while true {
      let known = matters.count
      let (failure, isComplete) = try search(deviations, isTimeUp)
      // A step that turned out late to matter may have mattered earlier.
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
      // Decisions from the deepest up.
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

  /// A thread that may go on here and has not been tried.
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
    // For each object, the threads that look at it or change it later.
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

  /// Runs a schedule that interrupts threads at about as many random steps on which other threads'
  /// steps depend, and continues the interrupted one soon or late; where no thread is interrupted any
  /// may go on.
  mutating func scattered(seed: UInt64, interruptions: Int) throws -> Failure? {
    var random = SplitMix64(seed: seed)
    // Before anything is known every step counts.
    let matters = matters
    let count = matters.isEmpty ? max(8, longest) : matters.count
    // The decision until which a thread is left out, as long as others can go on.
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

  /// Runs all schedules in which one thread is interrupted once, at a step on which another thread's
  /// step depends, and goes on only when the others have ended or wait for it. With few deviations it
  /// would go on as soon as another one waits for anything.
  mutating func postponed(isTimeUp: () -> Bool) throws -> Failure? {
    for place in matters.sorted(by: { ($0.thread, $0.number) < ($1.thread, $1.number) }) {
      if isTimeUp() { return nil }
      var isLeft = false
      // Threads that have only polled since another one did anything.
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

  /// Runs a schedule by priorities, some of which are lowered at random steps.
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
      // A thread that only polls would wait for ever for those of lower priority.
      if let place = lowered.contains(moment.number) ? highest() : moment.idle {
        priorities[place] = lowest
        lowest &-= 1
      }
      return highest()
    }
    return problem.map { failure($0, outcome) }
  }
}
