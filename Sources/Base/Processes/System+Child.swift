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
  /// The read end of a pipe for the child's standard output; the owner closes it.
  package let output: Int32
  /// The read end of a pipe for its standard error; the child never waits for a full pipe. Nil when the child
  /// shares the standard error of this process.
  package let error: Int32?
}

/// How a child ended, and its processor time.
package struct ChildEnding: Sendable {
  /// The exit status; nil when a signal ended the child.
  package let status: Int32?
  /// The signal that ended the child.
  package let signal: Int32?
  /// Processor time in the program, in seconds.
  package let userSeconds: Double
  /// Processor time in the system on its behalf, in seconds.
  package let systemSeconds: Double
}

/// Runs other programs as children.
extension System {
  /// Starts a program; a name without a slash is looked up in `PATH`.
  ///
  /// The child gets a process group of its own, so that an interrupt key for this process does not end it. A
  /// closed pipe ends it: it does not outlive the reader of its output.
  ///
  /// - Parameters:
  ///   - input: its standard input; nil: an empty one.
  ///   - capturesError: whether its standard error is also read through a pipe.
  /// - Throws: `SystemError`, whose `isMissing` is true when there is no such program.
  package static func start(
    _ program: String, _ arguments: [String], input: Int32? = nil, capturesError: Bool = false
  ) throws(SystemError) -> ChildProcess {
    // Neither end is 0, 1 or 2 (see `openStandardDescriptors`), so copying an end to the child's 0, 1 or 2
    // overwrites no other end.
    let (outputRead, outputWrite) = try pipe(for: program)
    defer { close(outputWrite) }
    var error: (reading: Int32, writing: Int32)?
    if capturesError {
      do throws(SystemError) {
        error = try pipe(for: program)
      } catch let failure {
        close(outputRead)
        throw failure
      }
    }
    defer { if let error { close(error.writing) } }
    if let error {
      // The child's messages are read only after its end; the pipe drops those for which it has no space.
      _ = fcntl(error.writing, F_SETFL, fcntl(error.writing, F_GETFL) | O_NONBLOCK)
    }
    var process: pid_t = 0
    let code = spawn(&process, program, arguments, (input, outputWrite, error?.writing))
    guard code == 0 else {
      close(outputRead)
      if let error { close(error.reading) }
      throw SystemError(operation: "run", path: program, code: code)
    }
    return ChildProcess(identifier: process, output: outputRead, error: error?.reading)
  }

  private static func spawn(
    _ process: inout pid_t, _ program: String, _ arguments: [String],
    _ standard: (input: Int32?, output: Int32, error: Int32?)
  ) -> Int32 {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input = standard.input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, standard.output, 1)
    if let error = standard.error { posix_spawn_file_actions_adddup2(&actions, error, 2) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The child would inherit that this process ignores a signal.
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var blocked = sigset_t()
    sigemptyset(&blocked)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))
    let words = ([program] + arguments).map { strdup(native($0)) } + [nil]
    defer { for word in words { free(word) } }
    if let code = failure(of: .start) { return code }
    return posix_spawnp(&process, program, &actions, &attributes, words, environ)
  }

  /// Waits for a child's end and releases its process entry. Call it once.
  ///
  /// - Throws: `SystemError` when its ending is unknown: see `keepEndingsOfChildren`.
  package static func waitForEnd(of child: ChildProcess) throws(SystemError) -> ChildEnding {
    var raw: Int32 = 0
    var usage = rusage()
    if call(.wait, { wait4(child.identifier, &raw, 0, &usage) }) < 0 {
      throw SystemError(operation: "wait for", path: "a child process", code: errno)
    }
    let signal = raw & 0x7F
    return ChildEnding(
      status: signal == 0 ? (raw >> 8) & 0xFF : nil, signal: signal == 0 ? nil : signal,
      userSeconds: seconds(usage.ru_utime), systemSeconds: seconds(usage.ru_stime))
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }

  /// The signal that ends a process at once; the system also sends it when memory is exhausted.
  package static let killSignal: Int32 = SIGKILL

  /// Ends a child at once. Call it only before `waitForEnd`, as another process may get its number later.
  package static func end(_ child: ChildProcess) { kill(child.identifier, SIGKILL) }

  /// Ends this process when its parent ends, in any way. Call it when a child begins; the parent's thread
  /// that started it must continue to exist.
  ///
  /// - Parameter parent: the intended parent, which may already have ended.
  /// - Returns: false when the parent has ended.
  package static func endWithParent(_ parent: Int32) -> Bool {
    #if canImport(Darwin)
      let watcher = try? Thread(name: "sheaf-parent") {
        while getppid() == parent { sleep(milliseconds: 100) }
        exitAtOnce(128 &+ SIGKILL)
      }
      watcher?.detach()
    #else
      let parentDeathSignal: Int32 = 1
      _ = linuxPrctl(parentDeathSignal, UInt(SIGKILL), 0, 0, 0)
    #endif
    // The parent may have ended before it could be watched.
    return getppid() == parent
  }

  /// Makes the endings of children available, even if a parent has made the system discard them. Call it when
  /// a program begins.
  package static func keepEndingsOfChildren() { signal(SIGCHLD, SIG_DFL) }

  /// Opens `/dev/null` for each of the three standard descriptors that is closed. Otherwise a database could
  /// get the number of standard output, and messages would be written into it. Each is opened in the wrong
  /// direction, so that its use fails.
  package static func openStandardDescriptors() {
    for (descriptor, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // `open` returns the lowest free number, which is the closed one.
      #if canImport(Darwin)
        _ = Darwin.open("/dev/null", mode)
      #else
        _ = Glibc.open("/dev/null", mode)
      #endif
    }
  }
}
