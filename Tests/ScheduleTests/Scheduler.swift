import Base
import Dispatch
import Foundation

@testable import Engine

/// Runs threads one at a time; a plan decides at every switch point which one goes on.
///
/// The scheduler knows what threads wait for: locks and conditions of the engine's `Lock`, threads that
/// are joined, time. A schedule is therefore the same whenever it is run again, and nothing sleeps: the
/// clock advances when all wait. If all wait for ever, that is reported as a deadlock.
///
/// Thread rule: a thread that is not scheduled calls `run`; scheduled threads call the rest.
final class Scheduler: ThreadScheduler, @unchecked Sendable {
  // @unchecked: only the thread that has the turn touches the state; semaphores pass the turn on.

  private enum Status: Equatable {
    case runnable
    case needsLock(UInt)
    case waits(UInt, on: UInt, until: UInt64?)
    /// It has polled in vain, until a time.
    case paused(until: UInt64)
    case joins(Int)
    case ended
  }

  private final class Member {
    let turn = DispatchSemaphore(value: 0)
    var status = Status.runnable
    /// A hash of all that the thread has done and seen.
    var history: UInt64
    var steps = 0
    init(history: UInt64) { self.history = history }
  }

  /// The last change of an object, by the history of the thread that made it.
  private struct Trace {
    var change: UInt64 = 0
    /// The histories of the looks since then.
    var looks: UInt64 = 0
  }

  /// Chooses the thread that goes on.
  typealias Plan = (Moment) -> Int

  /// A decision between threads.
  struct Moment {
    /// The number of decisions before.
    let number: Int
    /// The threads that can go on, ascending.
    let candidates: [Int]
    /// The default choice.
    let usual: Int
    /// The running thread's step that another thread would come before; nil if none is interrupted,
    /// since the running thread has to wait or does something that takes long.
    let interrupted: Place?
    /// The running thread, if it has only to poll again.
    let idle: Int?
  }

  /// A step by its thread and number: about the same in all runs.
  struct Place: Hashable {
    let thread: Int
    let number: Int
  }

  /// The result of a run.
  struct Outcome {
    var decisions: [Decision] = []
    var steps: [Step] = []
    /// What every thread waited for, if all waited for ever; or that the run would not end.
    var stuck: String?
  }

  /// A decision and its alternatives.
  struct Decision {
    /// The threads that could go on, ascending.
    let candidates: [Int]
    /// Whether choosing another thread would interrupt the running one.
    let interrupts: Bool
    /// The default choice.
    let usual: Int
    let chosen: Int
    /// Equal for two runs that are in the same state at this point.
    let state: UInt64
  }

  /// A step of a thread.
  struct Step {
    let thread: Int
    let object: UInt
    let changes: Bool
    /// The number of the thread's steps before.
    let number: Int
    /// The decision right before it, at which another thread might have gone first.
    let decision: Int?
  }

  /// How many nanoseconds a flush takes: longer than any thread waits for another.
  private static let longTime: UInt64 = 20_000_000
  /// A run with more steps never ends.
  private static let mostSteps = 200_000

  private let plan: Plan
  private let isFine: Bool
  private var members: [Member] = []
  /// Guards the growing list of members, for threads that read it before their first turn. The engine's
  /// `Lock` would call the scheduler, and ThreadSanitizer does not see what a `Mutex` guards.
  private let starting = NSLock()
  private var holders: [UInt: Int] = [:]
  private var traces: [UInt: Trace] = [:]
  private var current = 0
  private var stepCount = 0
  private var outcome = Outcome()
  private let isOver = DispatchSemaphore(value: 0)
  private var time: UInt64 = 1_000_000_000

  /// - Parameters:
  ///   - isFine: whether there are decisions before the parts of steps, too.
  ///   - plan: called at every decision.
  init(
    isFine: Bool,
    plan: @escaping Plan
  ) {
    self.isFine = isFine
    self.plan = plan
  }

  /// Runs the closures as threads, and the threads that they start, to their end.
  func run(_ bodies: [@Sendable () -> Void]) throws -> Outcome {
    members = bodies.indices.map { Member(history: UInt64($0) + 1) }
    let threads = try bodies.enumerated().map { index, body in
      try Base.Thread(name: "scheduled") { Scheduling.run(index, of: self, body) }
    }
    members[0].turn.signal()
    isOver.wait()
    // Stuck threads stay where they are.
    for thread in threads { outcome.stuck == nil ? thread.join() : thread.detach() }
    return outcome
  }

  // MARK: Choosing

  private func canGoOn(_ index: Int) -> Bool {
    switch members[index].status {
    case .runnable: true
    case .needsLock(let lock): holders[lock] == nil
    // Time may pass at any moment.
    case .waits(_, _, let end): end != nil
    case .paused: true
    case .joins(let other): members[other].status == .ended
    case .ended: false
    }
  }

  /// Passes the turn to the thread that the plan chooses, and returns when it has come back.
  ///
  /// - Parameters:
  ///   - isForced: whether the caller cannot go on, or has nothing to do.
  ///   - isLong: whether the caller's step takes long.
  /// - Returns: the number of the decision, if there was one.
  @discardableResult
  private func choose(isForced: Bool, isLong: Bool = false) -> Int? {
    let own = current
    if isLong { time &+= Self.longTime }
    let candidates = members.indices.filter { canGoOn($0) }
    guard var next = usual(candidates, after: own, isForced: isForced, isLong: isLong) else {
      stop("deadlock: ")
      return nil
    }
    var number: Int?
    if candidates.count > 1 {
      let usual = next
      let decision = outcome.decisions.count
      let interrupts = !isForced && !isLong
      next = plan(
        Moment(
          number: decision, candidates: candidates, usual: usual,
          interrupted: interrupts ? Place(thread: own, number: members[own].steps) : nil,
          idle: isPaused(own) ? own : nil))
      if !candidates.contains(next) { next = usual }
      outcome.decisions.append(
        Decision(
          candidates: candidates, interrupts: interrupts, usual: usual, chosen: next,
          state: state))
      number = decision
    }
    if let end = end(next) { time = max(time, end) }
    hand(to: next, from: own)
    return number
  }

  /// The default choice: the running thread; if it has to wait, or its step takes long, the one after
  /// it; last those that wait for a time.
  private func usual(_ candidates: [Int], after own: Int, isForced: Bool, isLong: Bool) -> Int? {
    if !isForced, !isLong { return own }
    let ready = candidates.filter { end($0).map { $0 <= time } ?? true }
    // In turn: a thread that has had the turn is the last to get it again.
    let order = ready.filter { $0 > own } + ready.filter { $0 <= own }
    if let next = order.first { return next }
    return candidates.min { end($0) ?? 0 < end($1) ?? 0 }
  }

  /// The end of the time that a thread waits at most.
  private func end(_ index: Int) -> UInt64? {
    switch members[index].status {
    case .waits(_, _, let end): end
    case .paused(let end): end
    default: nil
    }
  }

  /// Whether the thread only polls again when its time is over.
  private func isPaused(_ index: Int) -> Bool { end(index) != nil }

  private func hand(to next: Int, from own: Int) {
    current = next
    guard next != own else { return }
    // From the signal on, everything belongs to the next thread.
    let (giver, hasEnded) = (members[own], members[own].status == .ended)
    members[next].turn.signal()
    if !hasEnded { giver.turn.wait() }
  }

  private func stop(_ what: String) {
    outcome.stuck =
      what + members.enumerated().map { "\($0): \($1.status)" }.joined(separator: ", ")
    let member = members[current]
    isOver.signal()
    member.turn.wait()
  }

  /// Blocks the caller until its status lets it go on.
  private func block(_ status: Status) {
    members[current].status = status
    choose(isForced: true)
    members[current].status = .runnable
  }

  // MARK: What was done

  private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    var value = (one ^ other.byteSwapped) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 29
    value = (value &+ other) &* 0xBF58_476D_1CE4_E5B9
    return value ^ value >> 32
  }

  /// Notes a step of the running thread; its history continues those of the threads whose work it saw.
  private func note(_ object: UInt, changes: Bool, decision: Int? = nil) {
    let own = current
    stepCount += 1
    if stepCount > Self.mostSteps { stop("does not end: ") }
    outcome.steps.append(
      Step(
        thread: own, object: object, changes: changes, number: members[own].steps,
        decision: decision))
    members[own].steps += 1
    var trace = traces[object] ?? Trace()
    var history = Self.mix(members[own].history, trace.change)
    if changes {
      history = Self.mix(history, trace.looks)
      trace = Trace(change: history)
    } else {
      trace.looks &+= history
    }
    members[own].history = history
    traces[object] = trace
  }

  /// A hash of what all threads have done and seen, whatever the order of independent steps.
  private var state: UInt64 {
    var state = Self.mix(time, UInt64(current))
    for (index, member) in members.enumerated() {
      state &+= Self.mix(member.history &+ (canGoOn(index) ? end(index) ?? 1 : 0), UInt64(index))
    }
    return state
  }

  // MARK: What the engine calls

  var nanoseconds: UInt64 {
    members[current].history = Self.mix(members[current].history, time)
    return time
  }

  func reach(_ point: SwitchPoint) {
    let decision =
      point.isFine && !isFine ? nil : choose(isForced: false, isLong: point.isLong)
    note(point.object, changes: point.changes, decision: decision)
  }

  func lock(_ lock: UInt) {
    let decision = choose(isForced: false)
    note(lock, changes: true, decision: decision)
    take(lock)
  }

  private func take(_ lock: UInt) {
    while holders[lock] != nil { block(.needsLock(lock)) }
    holders[lock] = current
    note(lock, changes: true)
  }

  func unlock(_ lock: UInt) {
    // Not a switch point: no other thread sees anything before the thread's next step.
    holders[lock] = nil
    note(lock, changes: true)
  }

  func wait(_ lock: UInt, on condition: UInt, milliseconds: Int?) {
    holders[lock] = nil
    note(lock, changes: true)
    let end = milliseconds.map { time &+ UInt64(max(0, $0)) &* 1_000_000 }
    block(.waits(lock, on: condition, until: end))
    take(lock)
  }

  func wake(_ condition: UInt, all: Bool) {
    note(condition, changes: true)
    for member in members {
      guard case .waits(let lock, condition, _) = member.status else { continue }
      member.status = .needsLock(lock)
      if !all { return }
    }
  }

  func pause(milliseconds: Int) {
    let end = time &+ UInt64(max(1, milliseconds)) &* 1_000_000
    block(.paused(until: end))
  }

  func start() -> Int {
    let member = Member(history: Self.mix(members[current].history, UInt64(members.count)))
    starting.withLock { members.append(member) }
    return members.count - 1
  }

  func began(_ thread: Int) {
    // The thread has not had the turn yet.
    starting.withLock { members[thread] }.turn.wait()
  }

  func ended() {
    members[current].status = .ended
    stepCount += 1
    if members.allSatisfy({ $0.status == .ended }) {
      isOver.signal()
    } else {
      choose(isForced: true)
    }
  }

  func join(_ thread: Int) {
    if members[thread].status != .ended { block(.joins(thread)) }
    members[current].history = Self.mix(members[current].history, members[thread].history)
  }
}
