import Base
import Engine
import Synchronization

/// Records SIGINT, SIGTERM and SIGHUP, so that a command can check for them between two batches.
///
/// The first signal is only recorded: the command finishes its batch, reports and ends with the status of the
/// signal. A second one ends the process immediately, unless it comes within a second of the first: `timeout`
/// and service managers send one request both to the process and to its group.
///
/// Thread rule: any thread.
enum Interrupt {
  /// The first signal that came; 0 before.
  private static let received = Atomic<Int32>(0)
  /// The time of that signal, by `System.monotonicNanoseconds`; 0 before.
  private static let receivedAt = Atomic<UInt64>(0)
  /// The address of the path of a file that is not complete; 0: there is none.
  private static let unfinished = Atomic<UInt>(0)
  private static let oneWishNanoseconds: UInt64 = 1_000_000_000

  private static let signals = [
    System.interruptSignal, System.terminationSignal, System.hangupSignal,
  ]

  /// Starts recording signals. Only for commands that check `signal`. Other commands would no longer end on a
  /// signal; they call `installImmediate`.
  static func install() {
    touch()
    System.handle(signal: System.interruptSignal) { Interrupt.note($0) }
    System.handle(signal: System.terminationSignal) { Interrupt.note($0) }
    // A command under `nohup` continues when its terminal is closed.
    System.handleUnlessIgnored(signal: System.hangupSignal) { Interrupt.note($0) }
  }

  /// Lets each signal end the process immediately, with its status: for commands without work to finish.
  /// Signals that the parent has set to be ignored, as a shell does for background jobs, stay ignored.
  static func installImmediate() {
    touch()
    for number in signals {
      System.handleUnlessIgnored(signal: number) { Interrupt.end($0) }
    }
  }

  /// Reads the storage once, so that no handler has to initialize it.
  private static func touch() {
    _ = received.load(ordering: .relaxed)
    _ = receivedAt.load(ordering: .relaxed)
    _ = unfinished.load(ordering: .relaxed)
  }

  /// Names the file to remove when a signal ends the process immediately; nil: none.
  static func leavesUnfinished(_ path: String?) {
    // The earlier text stays in memory: a handler may be reading it.
    unfinished.store(path.map { System.permanentCopy($0) } ?? 0, ordering: .releasing)
  }

  /// The signal that requests the end of the command; nil when none has come.
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
