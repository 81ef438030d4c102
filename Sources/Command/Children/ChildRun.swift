import Base
import Engine

/// Runs this program again as a child, which ends with this process.
enum ChildRun {
  /// A signal has requested that this command end, and the child has been ended.
  struct Interrupted: Error {}

  struct Result {
    /// From the start of the process to its end.
    let seconds: Double
    /// The child's standard output.
    let text: String
    /// The child's standard error; empty unless captured.
    let errorText: String
    let ending: ChildEnding
    /// True when this process has killed it.
    let wasKilled: Bool
  }

  struct Started {
    fileprivate let child: ChildProcess
    fileprivate let began: UInt64
  }

  /// No child prints as many bytes; what follows them is dropped.
  private static let outputLimit = 64 << 10

  /// Starts a child.
  ///
  /// - Parameters:
  ///   - words: the words after the number of this process; see `ChildProgram`.
  ///   - capturesError: whether its standard error is read, too.
  static func start(_ words: [String], capturesError: Bool = false) throws -> Started {
    guard let program = System.programPath else {
      throw CommandError(.bug, "the file of the running program is not to be found")
    }
    if Interrupt.signal != nil { throw Interrupted() }
    let began = System.monotonicNanoseconds
    let child = try System.start(
      program, [ChildWord.first, "\(System.processIdentifier)"] + words,
      capturesError: capturesError
    )
    return Started(child: child, began: began)
  }

  /// Waits for a child's end.
  ///
  /// - Parameter limit: the seconds after which the child is killed; nil: never.
  /// - Throws: `Interrupted`; the child has ended.
  static func finish(_ started: Started, killAfter limit: Double? = nil) throws -> Result {
    let child = started.child
    defer {
      System.close(child.output)
      if let error = child.error { System.close(error) }
    }
    var wasKilled = false
    let text: String
    do {
      text = try output(of: started, limit, &wasKilled)
    } catch {
      System.end(child)
      _ = try? System.waitForEnd(of: child)
      throw error
    }
    let ending = try System.waitForEnd(of: child)
    let seconds = Double(System.monotonicNanoseconds - started.began) / 1e9
    var errorText = ""
    if let error = child.error {
      var bytes: [UInt8] = []
      // Reading ends when no process holds the pipe open, the child's own children included.
      while bytes.count < outputLimit, try read(error, &bytes) {}
      errorText = String(decoding: bytes, as: UTF8.self)
    }
    if Interrupt.signal != nil { throw Interrupted() }
    return Result(
      seconds: seconds, text: text, errorText: errorText, ending: ending,
      wasKilled: wasKilled && ending.signal == System.killSignal)
  }

  /// Reads to the end of the child's output, or until it has been killed.
  private static func output(
    of started: Started, _ limit: Double?, _ wasKilled: inout Bool
  ) throws -> String {
    var bytes: [UInt8] = []
    let deadline = limit.map { started.began + UInt64(max($0, 0) * 1e9) }
    while true {
      if Interrupt.signal != nil { throw Interrupted() }
      var pause: Int32 = 100
      if let deadline {
        let now = System.monotonicNanoseconds
        if now >= deadline {
          System.end(started.child)
          wasKilled = true
          break
        }
        pause = Int32(min(100, max(1, (deadline - now) / 1_000_000)))
      }
      guard System.waitForInput(started.child.output, milliseconds: pause) else { continue }
      if try !read(started.child.output, &bytes) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Returns: false at the end.
  private static func read(_ descriptor: Int32, _ bytes: inout [UInt8]) throws -> Bool {
    var piece = [UInt8](repeating: 0, count: 4096)
    let count = try piece.withUnsafeMutableBytes {
      try System.read(descriptor, into: $0, path: "output of a child process")
    }
    if bytes.count < outputLimit { bytes += piece[..<count] }
    return count > 0
  }
}
