import Base
import Engine
import Synchronization

/// SIGINT, SIGTERM and SIGHUP, turned into a question a command asks between two batches.
///
/// The first signal is only noted: the command finishes its batch, reports and ends with the status
/// of the signal. A second one ends the process at once, but not within a second of the first:
/// `timeout` and service managers send one wish to the process and to its group.
///
/// Thread rule: any thread.
enum Interrupt {
  /// The first signal that came; 0 before.
  private static let received = Atomic<Int32>(0)
  /// When it came, as `System.monotonicNanoseconds` has it; 0 before.
  private static let receivedAt = Atomic<UInt64>(0)
  /// The address of the path of a file that is not complete; 0: there is none.
  private static let unfinished = Atomic<UInt>(0)
  private static let oneWishNanoseconds: UInt64 = 1_000_000_000

  private static let signals = [
    System.interruptSignal, System.terminationSignal, System.hangupSignal,
  ]

  /// Starts to listen. Commands that do not ask `signal` must not call this, but `installImmediate`:
  /// they would no longer end when told to.
  static func install() {
    touch()
    System.handle(signal: System.interruptSignal) { Interrupt.note($0) }
    System.handle(signal: System.terminationSignal) { Interrupt.note($0) }
    // What `nohup` starts goes on when its terminal goes.
    System.handleUnlessIgnored(signal: System.hangupSignal) { Interrupt.note($0) }
  }

  /// Lets each signal end the process at once, with its status: for commands that have nothing to
  /// finish. A command that is to ignore a signal, as one in the background of a script, goes on to.
  static func installImmediate() {
    touch()
    for number in signals {
      System.handleUnlessIgnored(signal: number) { Interrupt.end($0) }
    }
  }

  /// Reads the storage once, so that a handler never is the one to initialize it.
  private static func touch() {
    _ = received.load(ordering: .relaxed)
    _ = receivedAt.load(ordering: .relaxed)
    _ = unfinished.load(ordering: .relaxed)
  }

  /// Names the file that is to be removed when a signal ends the process at once; nil: none any more.
  static func leavesUnfinished(_ path: String?) {
    // The one before stays in memory: a handler may be reading it.
    unfinished.store(path.map { System.permanentCopy($0) } ?? 0, ordering: .releasing)
  }

  /// The signal that asks the command to end, or nil.
  static var signal: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// The exit status for the signal that came, or nil when none did.
  static var status: ExitStatus? { signal.map { ExitStatus(signal: $0) } }

  /// Runs in a signal handler: atomic operations, the clock and `end`, all safe there.
  private static func note(_ number: Int32) {
    let now = System.monotonicNanoseconds
    let (isFirst, first) = receivedAt.compareExchange(
      expected: 0, desired: now, ordering: .relaxed)
    if isFirst {
      received.store(number, ordering: .relaxed)
    } else if now &- first >= oneWishNanoseconds {
      end(number)
    }
  }

  /// Runs in a signal handler: `unlink` and `_exit`, both safe there.
  private static func end(_ number: Int32) -> Never {
    System.removeAtOnce(unfinished.load(ordering: .acquiring))
    System.exitAtOnce(128 &+ number)
  }
}
