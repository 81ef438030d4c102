import Base

/// Why joining the participants of a database failed, or a lock was not released.
package enum CoordinationError: Error, Equatable, CustomStringConvertible {
  case foreignLockFile(String)
  case replaced(String)
  case lockFileLost(String)
  case openElsewhere(String)
  case tooFast(String)
  case tooManyParticipants(String, Int)
  case tooManyReaders(String, Int)
  case tooManyWriters(String, Int)
  /// Another participant held the lock longer than the wait.
  case held(Coordination.Held, lockFile: String, process: Int32?, seconds: Double)

  package var description: String {
    switch self {
    case .foreignLockFile(let path):
      "\(path) is not a lock file of this Sheaf; close the program that uses the database"
    case .replaced(let path):
      "the database file was replaced while others have the earlier one open (\(path)); "
        + "close them first"
    case .lockFileLost(let path):
      "its lock file \(path) was removed or replaced while it was open; close it everywhere and "
        + "open it again"
    case .openElsewhere:
      "it is open under another name (a hard link), or its lock file was removed or replaced while "
        + "it was open; close it there first"
    case .tooFast:
      "its newest version is replaced faster than it can be held, or a commit slot is damaged while "
        + "somebody writes; try again, and run 'sheaf check' if that does not help"
    case .tooManyParticipants(_, let limit):
      "it is open \(limit) times already; close some"
    case .tooManyReaders(_, let limit):
      "\(limit) snapshots are held already; release some"
    case .tooManyWriters(_, let limit):
      "\(limit) writers are waiting already; try again later"
    case .held(let what, let path, let process, let seconds):
      what.description(process) + "; it was waited for " + Self.text(seconds)
        + "; try again later, or wait longer (--wait); a process that was stopped has to go on or be ended"
        + (process == nil ? " (who has \(path) open, 'fuser' tells)" : "")
    }
  }

  private static func text(_ seconds: Double) -> String {
    let tenths = (seconds * 10).rounded() / 10
    let number = Int(exactly: tenths).map(String.init) ?? "\(tenths)"
    return number + (tenths == 1 ? " second" : " seconds")
  }
}

extension Coordination {
  /// The locks that one participant holds exclusively while others wait.
  package enum Held: Sendable, Equatable {
    case registration
    case presence
    case turn
    case writing

    /// The word for the process that holds the lock, which the system does not reveal; 0: no process has set
    /// it.
    var place: Int {
      switch self {
      case .registration: Offset.registering
      case .presence: Offset.alone
      case .turn: Offset.inTurn
      case .writing: Offset.writing
      }
    }

    /// The cause of a wait, in words.
    func description(_ process: Int32?) -> String {
      let who = process.map { "process \($0), which" } ?? "a process that"
      return switch self {
      case .registration: "\(who) is just opening the file"
      case .presence: "\(who) has the file for itself alone, as a compaction does"
      case .turn: "\(who) is in a write transaction"
      case .writing: "\(who) has commits that are not on the disk yet"
      }
    }
  }

  /// The process that holds the lock, from the system or the process's own note; nil when that process has
  /// ended.
  static func holder(_ what: Held, at byte: Int, _ descriptor: Int32, path: String) -> Int32? {
    if let process = System.lockHolder(descriptor, at: byte, length: 1) { return process }
    var word: UInt64 = 0
    let count = withUnsafeMutableBytes(of: &word) {
      try? System.read(descriptor, at: what.place, into: $0, path: path)
    }
    guard count == 8, let process = Int32(exactly: word), process > 0,
      System.processIsAlive(process)
    else { return nil }
    return process
  }

  /// Waits for a lock that others release after a moment or a while, and takes it.
  ///
  /// - Parameter patience: nil: waits in the kernel, without a limit.
  /// - Throws: `CoordinationError.held` when they do not release it in time; `EngineError.cancelled`;
  ///   `SystemError`.
  static func take(
    _ what: Held, _ kind: System.LockKind, at byte: Int, _ descriptor: Int32, path: String,
    _ patience: inout Patience?
  ) throws {
    while try !System.lock(
      descriptor, kind, at: byte, length: 1, wait: patience == nil, path: path)
    {
      try pause(for: what, at: byte, descriptor, path: path, &patience)
    }
  }

  /// Pauses briefly while another participant has a lock.
  ///
  /// - Throws: `CoordinationError.held` at the end of the time to wait; `EngineError.cancelled`.
  static func pause(
    for what: Held, at byte: Int, _ descriptor: Int32, path: String, _ patience: inout Patience?
  ) throws {
    do throws(Patience.Refusal) {
      try patience?.pause { what.description(holder(what, at: byte, descriptor, path: path)) }
    } catch {
      if error == .cancelled { throw EngineError.cancelled }
      throw CoordinationError.held(
        what, lockFile: path, process: holder(what, at: byte, descriptor, path: path),
        seconds: patience?.limit ?? 0)
    }
  }

  /// Notes whether this process holds the lock. Call it after taking the lock, and before releasing it.
  func note(_ what: Held, isHeld: Bool) {
    word(what.place).store(isHeld ? process : 0)
  }
}
