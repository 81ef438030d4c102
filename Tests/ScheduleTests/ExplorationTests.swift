import Base
import Testing

@testable import Engine

/// The search itself: it finds the defects of small programs, and none where none are.
@Suite("Schedules: the search")
struct ExplorationTests {
  /// A word of its own memory.
  private final class Word: Sendable {
    let word: AtomicWord
    private let memory: Memory

    /// 64 zeroed bytes.
    private final class Memory: @unchecked Sendable {
      // @unchecked: the pointer never changes; what it points at is atomic.
      let pointer = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
      init() { pointer.initializeMemory(as: UInt8.self, repeating: 0, count: 64) }
      deinit { pointer.deallocate() }
    }

    init() {
      memory = Memory()
      word = AtomicWord(memory.pointer)
    }
  }

  /// Two threads count to two; the unsafe way may lose one.
  private static func counting(safely: Bool) -> Exploration.Scenario {
    let count = Word()
    let add: @Sendable () -> Void = {
      if safely {
        _ = count.word.increment()
      } else {
        count.word.store(count.word.load() + 1)
      }
    }
    return Exploration.Scenario(threads: [add, add]) {
      count.word.load() == 2 ? nil : "one was lost"
    }
  }

  @Test("An update that is lost by one interruption is found, and found again by its schedule")
  func lostUpdate() throws {
    var exploration = Exploration(isFine: true) { Self.counting(safely: false) }
    #expect(try exploration.exhaust(deviations: 0) { false }.failure == nil)
    let (failure, _) = try exploration.exhaust(deviations: 1) { false }
    let found = try #require(failure)
    #expect(found.problem == "one was lost" && exploration.runs < 10)
    let schedule = try #require(Schedule(found.schedule.description))
    #expect(try exploration.replay(schedule)?.problem == "one was lost")
    #expect(try #require(Schedule("")).description == "" && Schedule("1,2") == nil)
  }

  @Test("Where nothing is wrong, nothing is found, and the search ends")
  func right() throws {
    var exploration = Exploration(isFine: true) { Self.counting(safely: true) }
    let (failure, isComplete) = try exploration.exhaust(deviations: 3) { false }
    #expect(failure == nil && isComplete && exploration.runs > 1)
    for seed in 0..<20 as Range<UInt64> {
      #expect(try exploration.scattered(seed: seed, interruptions: 3) == nil)
      #expect(try exploration.prioritized(seed: seed, changes: 3) == nil)
    }
  }

  @Test("Random schedules find it too")
  func random() throws {
    var exploration = Exploration(isFine: true) { Self.counting(safely: false) }
    var found = 0
    for seed in 0..<100 as Range<UInt64> {
      if try exploration.scattered(seed: seed, interruptions: 2) != nil { found += 1 }
      if try exploration.prioritized(seed: seed, changes: 2) != nil { found += 1 }
    }
    #expect(found > 10)
  }

  @Test("Threads that wait for each other for ever are told")
  func deadlock() throws {
    var exploration = Exploration {
      let (one, other) = (Lock(), Lock())
      return Exploration.Scenario(threads: [
        { one.withLock { other.withLock {} } }, { other.withLock { one.withLock {} } },
      ]) { nil }
    }
    let (failure, _) = try exploration.exhaust(deviations: 1) { false }
    #expect(failure?.problem.hasPrefix("deadlock") == true)
  }

  @Test("Time passes where somebody waits for it, and wakes come in every order")
  func waiting() throws {
    var exploration = Exploration {
      let lock = Lock()
      let (isReady, timedOut) = (Word(), Word())
      return Exploration.Scenario(threads: [
        {
          lock.withLock {
            while isReady.word.load() == 0 {
              lock.wait(milliseconds: 1000)
              if isReady.word.load() == 0 { _ = timedOut.word.increment() }
            }
          }
        },
        {
          System.sleep(milliseconds: 10)
          lock.withLock {
            isReady.word.store(1)
            lock.wakeAll()
          }
        },
      ]) { timedOut.word.load() > 0 ? "timed out" : nil }
    }
    #expect(try exploration.exhaust(deviations: 0) { false }.failure == nil)
    // The time limit may pass before the other thread has slept.
    #expect(try exploration.exhaust(deviations: 1) { false }.failure?.problem == "timed out")
  }
}
