#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Testing

@testable import Command

/// Each test runs in a process of its own: a signal is noted once, for good.
@Suite struct InterruptTests {
  @Test func theFirstSignalIsOnlyNoted() async {
    await #expect(processExitsWith: .exitCode(7)) {
      unblockSignals()
      Interrupt.install()
      let before = Interrupt.status
      raise(SIGINT)
      exit(before == nil && Interrupt.signal == SIGINT && Interrupt.status == .interrupted ? 7 : 1)
    }
  }

  @Test func theSecondSignalEndsTheProcess() async {
    await #expect(processExitsWith: .exitCode(ExitStatus.terminated.rawValue)) {
      unblockSignals()
      Interrupt.install()
      raise(SIGINT)
      raise(SIGTERM)
      exit(1)
    }
  }
}

/// The threads that run tests block signals.
private func unblockSignals() {
  var none = sigset_t()
  sigemptyset(&none)
  pthread_sigmask(SIG_SETMASK, &none, nil)
}
