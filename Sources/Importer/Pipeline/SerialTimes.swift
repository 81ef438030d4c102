import Base
import Engine

/// Processor time of what only one thread of an import can do at a time: with enough parsers, these
/// set its speed. Waiting does not count.
///
/// Thread rule: any thread.
final class SerialTimes: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var nanoseconds = (reader: UInt64(0), writer: UInt64(0))

  /// Of the thread that cuts the input into chunks, without what it parsed.
  var reader: UInt64 { lock.withLock { nanoseconds.reader } }
  /// Of the thread that writes.
  var writer: UInt64 { lock.withLock { nanoseconds.writer } }

  /// A stretch of the calling thread's work.
  struct Stretch {
    private let began = System.threadNanoseconds
    /// What of it others could have done.
    private var shared: UInt64 = 0

    /// Does what others could do as well.
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
