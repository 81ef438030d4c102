import Base
import Engine

/// Processor time of the work that only one thread of an import can do at a time, which limits the speed if
/// there are enough parsers. Waiting is not counted.
///
/// Thread rule: any thread.
final class SerialTimes: @unchecked Sendable {
  // @unchecked: `lock` guards the state.
  private let lock = Lock()
  private var nanoseconds = (reader: UInt64(0), writer: UInt64(0))

  /// The time of the thread that cuts the input into chunks, without its parsing.
  var reader: UInt64 { lock.withLock { nanoseconds.reader } }
  /// The time of the thread that writes.
  var writer: UInt64 { lock.withLock { nanoseconds.writer } }

  /// A period of the calling thread's work.
  struct Stretch {
    private let began = System.threadNanoseconds
    /// The part that other threads could have done.
    private var shared: UInt64 = 0

    /// Does work that other threads could also do.
    mutating func share<Result>(_ body: () -> Result) -> Result {
      let began = System.threadNanoseconds
      defer { shared &+= System.threadNanoseconds &- began }
      return body()
    }

    var serial: UInt64 { System.threadNanoseconds &- began &- shared }
  }

  func addReader(_ stretch: Stretch) {
    let own = stretch.serial
    lock.withLock { nanoseconds.reader &+= own }
  }

  func addWriter(_ stretch: Stretch) {
    let own = stretch.serial
    lock.withLock { nanoseconds.writer &+= own }
  }
}
