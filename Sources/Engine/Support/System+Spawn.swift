#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A process that this one started.
///
/// Thread rule: one thread at a time.
package struct ChildProcess: Sendable {
  package let identifier: Int32
  /// The read end of a pipe that the child writes its standard output to; the owner closes it.
  package let output: Int32
}

/// How a child ended, and what it took.
package struct ChildEnding: Sendable {
  /// The exit status; nil when a signal ended the child.
  package let status: Int32?
  /// The signal that ended the child.
  package let signal: Int32?
  /// Processor time spent in the program.
  package let userSeconds: Double
  /// Processor time spent in the system on its behalf.
  package let systemSeconds: Double
}

/// Child processes.
extension System {
  /// Starts a program with nothing on its standard input and a pipe for its standard output. It
  /// shares this process's standard error and environment.
  package static func start(_ program: String, _ arguments: [String]) throws(SystemError)
    -> ChildProcess
  {
    let (readEnd, writeEnd) = try makePipe()
    defer { close(writeEnd) }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, writeEnd, 1)
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var identifier: pid_t = 0
    let code = posix_spawn(&identifier, program, &actions, nil, words, environ)
    guard code == 0 else {
      close(readEnd)
      throw SystemError(operation: "start", path: program, code: code)
    }
    return ChildProcess(identifier: identifier, output: readEnd)
  }

  /// Both ends are closed in children that do not get them on purpose.
  private static func makePipe() throws(SystemError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    #if canImport(Darwin)
      let failed = Darwin.pipe(&ends) != 0
    #else
      let failed = Glibc.pipe(&ends) != 0
    #endif
    if failed { throw SystemError(operation: "make a pipe", path: "", code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Waits for the end of a child, which must not have been waited for before.
  package static func waitForEnd(of child: ChildProcess) throws(SystemError) -> ChildEnding {
    var raw: Int32 = 0
    var usage = rusage()
    while wait4(child.identifier, &raw, 0, &usage) < 0 {
      if errno != EINTR { throw SystemError(operation: "wait", path: "", code: errno) }
    }
    let signal = raw & 0x7F
    return ChildEnding(
      status: signal == 0 ? (raw >> 8) & 0xFF : nil, signal: signal == 0 ? nil : signal,
      userSeconds: seconds(usage.ru_utime), systemSeconds: seconds(usage.ru_stime))
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }

  /// Ends a process at once; also what the system sends when it is out of memory.
  package static let killSignal: Int32 = SIGKILL

  /// Ends a child at once.
  package static func end(_ child: ChildProcess) {
    #if canImport(Darwin)
      _ = Darwin.kill(child.identifier, SIGKILL)
    #else
      _ = Glibc.kill(child.identifier, SIGKILL)
    #endif
  }

  /// The most memory, in bytes, that this process has had resident so far.
  package static var peakMemory: Int {
    // What `getrusage` tells on Linux is never less than what the parent had when it started this
    // process; the line in /proc is about this program alone.
    #if !canImport(Darwin)
      if let kilobytes = kilobytes(of: "VmHWM:", in: "/proc/self/status") {
        return kilobytes &* 1024
      }
    #endif
    var usage = rusage()
    #if canImport(Darwin)
      guard getrusage(RUSAGE_SELF, &usage) == 0 else { return 0 }
      return Int(usage.ru_maxrss)
    #else
      guard getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return 0 }
      return Int(usage.ru_maxrss) &* 1024
    #endif
  }

  private static func kilobytes(of name: String, in path: String) -> Int? {
    guard let text = try? textFile(path) else { return nil }
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else {
      return nil
    }
    return line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" }).first
      .flatMap { Int($0) }
  }

  /// The file of the running program.
  package static var programPath: String? {
    #if canImport(Darwin)
      var size: UInt32 = 0
      _ = _NSGetExecutablePath(nil, &size)
      var bytes = [CChar](repeating: 0, count: Int(size) + 1)
      guard _NSGetExecutablePath(&bytes, &size) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #else
      let path = resolved("/proc/self/exe")
      return path == "/proc/self/exe" ? nil : path
    #endif
  }
}
