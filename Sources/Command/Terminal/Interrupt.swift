import Engine
import Synchronization

/// SIGINT and SIGTERM, turned into a question a command asks between two batches.
///
/// The first signal is only noted: the command finishes its batch, reports and ends with the
/// status of the signal. A second one ends the process at once.
///
/// Thread rule: any thread.
enum Interrupt {
  /// The first signal that came; 0 before.
  private static let received = Atomic<Int32>(0)

  /// Starts to listen. Commands that do not ask `signal` must not call this, but `installImmediate`:
  /// they would no longer end when told to.
  static func install() {
    // Read once here, so that the handler never is the one to initialize the static storage.
    _ = received.load(ordering: .relaxed)
    System.handle(signal: System.interruptSignal) { Interrupt.note($0) }
    System.handle(signal: System.terminationSignal) { Interrupt.note($0) }
  }

  /// Lets either signal end the process at once, with its status: for commands that have nothing to
  /// finish. A command that is to ignore a signal, as one in the background of a script, goes on to.
  static func installImmediate() {
    for number in [System.interruptSignal, System.terminationSignal] {
      System.handleUnlessIgnored(signal: number) { System.exitAtOnce(128 &+ $0) }
    }
  }

  /// The signal that asks the command to end, or nil.
  static var signal: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// The exit status for the signal that came, or nil when none did.
  static var status: ExitStatus? {
    guard let signal else { return nil }
    return signal == System.interruptSignal ? .interrupted : .terminated
  }

  /// Runs in a signal handler: one atomic operation and `_exit`, both safe there.
  private static func note(_ number: Int32) {
    let (isFirst, _) = received.compareExchange(
      expected: 0, desired: number, ordering: .relaxed)
    if !isFirst { System.exitAtOnce(128 &+ number) }
  }
}
