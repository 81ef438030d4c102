import Base

/// The writers' queue: one writer at a time, in the order of requests, across threads and processes.
///
/// A writer takes a ticket and a seat (a byte of the lock file that it locks in the kernel), then waits for
/// the seat of the writer just before it, as in a CLH queue lock. A seat's lock ends with its owner, so a
/// killed writer lets the next one through. The wait for a seat has the limit of opening a file, as seats are
/// taken in a moment. The wait for the turn lasts as long as the transactions before it.
///
/// **Resting.** A writer that leaves before another one has come keeps its seat locked, without a ticket. If
/// still no other has come, it resumes its old ticket, without a system call. Two orders make that safe. A
/// newcomer first takes a ticket, which changes the number of the next ticket, and then reads the seats. A
/// writer that resumes its ticket first shows it, and then reads that number. So at least one of the two sees
/// the other: if the newcomer does not see the ticket, it has changed the number before the other reads it,
/// and the other then gives up its seat and queues again. A writer that leaves first removes its ticket, and
/// then reads the number: a newcomer that waits for the seat has changed it, and is let through.
///
/// A resting writer keeps its seat in vain, until its next turn, once another one has come after it. So that
/// such seats never fill the queue, however many handles have written, only half of all seats are for
/// resting.
package final class WriterQueue: @unchecked Sendable {
  // @unchecked: `lock` guards all mutable state, except that in shared atomics.
  private let coordination: Coordination
  private static let restingSeats = Coordination.Offset.seatCount / 2
  /// How long a writer waits for locks that are held only for moments.
  private let waiting: Waiting
  private let lock = Lock()
  /// Descriptors whose seats are free for the next writer of this process.
  private var idle: [Int32] = []
  /// The turn that a writer of this handle has left and may resume.
  private var resting: Turn?
  /// The last ticket of this handle that had its turn.
  private var ownTicket: UInt64 = 0
  /// For tests: returns true to simulate a failure of unlocking.
  package var refusesToUnlock: (@Sendable () -> Bool)?
  /// In private memory: the tickets assigned and served.
  private var lastTicket: UInt64 = 0
  private var served: UInt64 = 0

  package init(_ coordination: Coordination, waiting: Waiting) {
    self.coordination = coordination
    // Without `shouldStop`: this wait is short, and a stopped program should finish what it has begun.
    self.waiting = Waiting(seconds: waiting.seconds, notice: waiting.notice)
  }

  deinit {
    for descriptor in idle { System.close(descriptor) }
    if let descriptor = resting?.descriptor { System.close(descriptor) }
  }

  /// A writer's place at the head of the queue.
  package struct Turn: Sendable {
    fileprivate let descriptor: Int32?
    fileprivate let seat: Int
    fileprivate var ticket: UInt64 = 0
    /// The remaining time to wait; nil: no limit.
    package fileprivate(set) var waiting: Waiting?
  }

  /// Waits until all earlier writers have finished.
  ///
  /// - Parameters:
  ///   - waiting: how long to wait; nil: in the kernel, without a limit.
  ///   - makeWay: called once before waiting for a writer of another handle, which may itself be waiting for
  ///     this handle's commits to become durable.
  /// - Throws: `CoordinationError`, `EngineError.cancelled`, `SystemError`, and the errors of `makeWay`.
  package func enter(waiting: Waiting? = nil, makeWay: () throws -> Void = {}) throws -> Turn {
    guard coordination.descriptor != nil else {
      lock.withLock {
        lastTicket += 1
        let ticket = lastTicket
        while served + 1 != ticket { lock.wait() }
      }
      return Turn(descriptor: nil, seat: 0, waiting: nil)
    }
    if let turn = sitDownAgain(waiting) { return turn }
    let descriptor = try takeDescriptor()
    var patience = waiting.map { Patience($0, least: Coordination.momentSeconds) }
    do {
      let (seat, ticket) = try takeSeat(descriptor)
      do {
        if hasOthers(before: ticket) { try makeWay() }
        while let before = try seatAhead(of: ticket, descriptor) {
          // Waits until that writer has left or died, then checks again.
          try Coordination.take(
            .turn, .exclusive, at: Self.byte(before), descriptor, path: path, &patience)
          _ = try System.lock(
            descriptor, .none, at: Self.byte(before), length: 1, wait: false, path: path)
        }
      } catch {
        // Closing the descriptor gives up the seat.
        ticketWord(seat).store(0)
        throw error
      }
      coordination.note(.turn, isHeld: true)
      lock.withLock { ownTicket = ticket }
      return Turn(descriptor: descriptor, seat: seat, ticket: ticket, waiting: patience?.rest)
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  private var nextTicket: AtomicWord { coordination.word(Coordination.Offset.nextTicket) }

  /// The turn that was left last; nil if another writer has come since.
  private func sitDownAgain(_ waiting: Waiting?) -> Turn? {
    guard var turn = lock.withLock({ resting.take() }) else { return nil }
    ticketWord(turn.seat).store(turn.ticket)
    guard nextTicket.load() == turn.ticket else {
      giveUp(turn)
      return nil
    }
    coordination.note(.turn, isHeld: true)
    turn.waiting = waiting
    return turn
  }

  /// True when a writer of another handle waits for its turn.
  package var othersWait: Bool {
    guard coordination.descriptor != nil, nextTicket.load() != lock.withLock({ ownTicket }) else {
      return false
    }
    return hasOthers(before: .max)
  }

  private func hasOthers(before ticket: UInt64) -> Bool {
    guard coordination.descriptor != nil else { return false }
    return (0..<Coordination.Offset.seatCount).contains { seat in
      let other = ticketWord(seat).load()
      return other != 0 && other < ticket && ownerWord(seat).load() != coordination.token
    }
  }

  /// Lets the next writer through.
  package func leave(_ turn: Turn) {
    guard turn.descriptor != nil else {
      lock.withLock {
        served += 1
        lock.wakeAll()
      }
      return
    }
    ticketWord(turn.seat).store(0)
    let mayRest = nextTicket.load() == turn.ticket && turn.seat < Self.restingSeats
    let rests = lock.withLock { () -> Bool in
      // Another thread's turn may have come and gone meanwhile, and be resting.
      guard mayRest, resting == nil else { return false }
      resting = turn
      return true
    }
    if !rests { giveUp(turn) }
  }

  /// Gives up the seat of a turn.
  private func giveUp(_ turn: Turn) {
    guard let descriptor = turn.descriptor else { return }
    ticketWord(turn.seat).store(0)
    do throws(SystemError) {
      try release(descriptor, Self.byte(turn.seat))
      lock.withLock { idle.append(descriptor) }
    } catch {
      // Closing gives up the seat too, and the turn's work is done: the failure has no consequence.
      System.close(descriptor)
    }
  }

  private func release(_ descriptor: Int32, _ byte: Int) throws(SystemError) {
    if refusesToUnlock?() == true {
      throw SystemError(operation: "lock", path: path, code: 0)
    }
    _ = try System.lock(descriptor, .none, at: byte, length: 1, wait: false, path: path)
  }

  private var path: String { coordination.path }

  private static func byte(_ seat: Int) -> Int { Coordination.LockByte.seats + seat }

  private func ticketWord(_ seat: Int) -> AtomicWord {
    coordination.word(Coordination.Offset.seats + seat * 16)
  }

  private func ownerWord(_ seat: Int) -> AtomicWord {
    coordination.word(Coordination.Offset.seats + seat * 16 + 8)
  }

  private func takeDescriptor() throws -> Int32 {
    if let descriptor = lock.withLock({ idle.popLast() }) { return descriptor }
    let descriptor = try System.openRegular(path, writable: true)
    // Locks on another file with that name would exclude no other writer.
    do {
      guard try System.status(descriptor, path: path).identity == coordination.identity else {
        throw CoordinationError.lockFileLost(path)
      }
      return descriptor
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// Takes a free seat and the next ticket, in one step for other processes.
  private func takeSeat(_ descriptor: Int32) throws -> (Int, UInt64) {
    let registration = Coordination.LockByte.registration
    var patience: Patience? = Patience(waiting, least: Coordination.momentSeconds)
    try Coordination.take(
      .registration, .exclusive, at: registration, descriptor, path: path, &patience)
    coordination.note(.registration, isHeld: true)
    // After an error the caller closes the descriptor, which releases all of its locks.
    let taken = try takeSeatAlone(descriptor)
    coordination.note(.registration, isHeld: false)
    do throws(SystemError) {
      try release(descriptor, registration)
    } catch {
      ticketWord(taken.0).store(0)
      throw error
    }
    return taken
  }

  private func takeSeatAlone(_ descriptor: Int32) throws -> (Int, UInt64) {
    let ticket = nextTicket.increment()
    let count = UInt64(Coordination.Offset.seatCount)
    // Seats are used in turn. The next writer will wake from the seat that was just left; if a later writer
    // took that seat at once, the two would wait for each other.
    for step in 0..<count {
      let seat = Int((ticket &+ step) % count)
      guard
        try System.lock(
          descriptor, .exclusive, at: Self.byte(seat), length: 1, wait: false, path: path)
      else { continue }
      ownerWord(seat).store(coordination.token)
      ticketWord(seat).store(ticket)
      return (seat, ticket)
    }
    throw CoordinationError.tooManyWriters(path, Coordination.Offset.seatCount)
  }

  /// The last living writer before this ticket; nil when it is this ticket's turn.
  private func seatAhead(of ticket: UInt64, _ descriptor: Int32) throws(SystemError) -> Int? {
    var found: (seat: Int, ticket: UInt64)?
    for seat in 0..<Coordination.Offset.seatCount {
      let other = ticketWord(seat).load()
      guard other != 0, other < ticket, other > found?.ticket ?? 0 else { continue }
      if try System.isLocked(descriptor, at: Self.byte(seat), length: 1, path: path) {
        found = (seat, other)
      } else {
        // Its owner has died, so the ticket is void.
        _ = ticketWord(seat).exchange(other, with: 0)
      }
    }
    return found?.seat
  }
}
