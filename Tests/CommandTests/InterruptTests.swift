#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Testing

@testable import Command

/// Each test runs in a process of its own, since a process notes a signal once, for good.
@Suite struct InterruptTests {
  @Test("The first signal is noted, and does not end the process")
  func theFirstSignalIsOnlyNoted() async {
    await #expect(processExitsWith: .exitCode(7)) {
      unblockSignals()
      Interrupt.install()
      let before = Interrupt.status
      raise(SIGINT)
      exit(before == nil && Interrupt.signal == SIGINT && Interrupt.status == .interrupted ? 7 : 1)
    }
  }

  @Test("A second signal, a second later, ends the process with its own status")
  func theSecondSignalEndsTheProcess() async {
    await #expect(processExitsWith: .exitCode(ExitStatus.terminated.rawValue)) {
      unblockSignals()
      Interrupt.install()
      raise(SIGINT)
      usleep(1_100_000)
      raise(SIGTERM)
      exit(1)
    }
  }

  /// `timeout` sends its signal to the process and to its group.
  @Test func signalsWithinASecondAreOne() async {
    await #expect(processExitsWith: .exitCode(7)) {
      unblockSignals()
      Interrupt.install()
      for number in [SIGTERM, SIGTERM, SIGINT, SIGHUP] { raise(number) }
      exit(Interrupt.status == .terminated ? 7 : 1)
    }
  }

  @Test("A lost terminal ends the process with status 129")
  func aLostTerminal() async {
    await #expect(processExitsWith: .exitCode(129)) {
      unblockSignals()
      Interrupt.install()
      raise(SIGHUP)
      exit(Interrupt.status?.rawValue ?? 1)
    }
    await #expect(processExitsWith: .exitCode(129)) {
      unblockSignals()
      Interrupt.installImmediate()
      raise(SIGHUP)
      exit(1)
    }
    // `nohup` makes the program ignore SIGHUP.
    await #expect(processExitsWith: .exitCode(7)) {
      unblockSignals()
      signal(SIGHUP, SIG_IGN)
      Interrupt.install()
      raise(SIGHUP)
      exit(Interrupt.signal == nil ? 7 : 1)
    }
  }
}

/// The threads that run tests block signals.
private func unblockSignals() {
  var none = sigset_t()
  sigemptyset(&none)
  pthread_sigmask(SIG_SETMASK, &none, nil)
}
