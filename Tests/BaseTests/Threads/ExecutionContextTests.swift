#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Base
import Testing

@Suite("Where code runs, when the process has no key for it")
struct ExecutionContextTests {
  @Test("Threads are told apart, and nobody else's key is written to")
  func noKey() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var keys: [pthread_key_t] = []
      var key = pthread_key_t()
      while pthread_key_create(&key, nil) == 0 { keys.append(key) }
      let before = keys.map { UInt(bitPattern: pthread_getspecific($0)) }
      let own = ExecutionContext.thread
      let isSame = own == ExecutionContext.thread && own.isHere
      let other = Outcome()
      let thread = try Thread(name: "other") { other.isSame = own.isHere }
      thread.join()
      let after = keys.map { UInt(bitPattern: pthread_getspecific($0)) }
      // Key 0 must not be in use: a variable that was never set names it.
      let first = UInt(bitPattern: pthread_getspecific(0))
      exit(
        keys.count > 10 && isSame && !other.isSame && before == after && first < 1 << 32 ? 7 : 1)
    }
  }

  private final class Outcome: @unchecked Sendable {
    // @unchecked: read after `join`.
    var isSame = true
  }
}
