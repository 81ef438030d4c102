#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Other programs, run as children, and what lies in a folder.
extension System {
  /// A child process whose output is read through a pipe.
  package struct Child: Sendable {
    package let process: Int32
    /// The read end of its standard output; the caller closes it.
    package let output: Int32
    /// The read end of its standard error, which never makes the child wait; the caller closes it.
    package let error: Int32
  }

  /// How a child ended.
  package enum Ending: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  /// Starts a program, looked for in `PATH`, that reads `input` as its standard input.
  ///
  /// The child is in a process group of its own, so that an interrupt key meant for this process does
  /// not end it, and a closed pipe ends it: it does not outlive the reader of its output.
  ///
  /// - Throws: `SystemError`, whose `isMissing` says that there is no such program.
  package static func start(_ program: String, _ arguments: [String], input: Int32)
    throws(SystemError) -> Child
  {
    let (outputRead, outputWrite) = try pipe(program)
    defer { close(outputWrite) }
    let errorRead: Int32
    let errorWrite: Int32
    do throws(SystemError) {
      (errorRead, errorWrite) = try pipe(program)
    } catch {
      close(outputRead)
      throw error
    }
    defer { close(errorWrite) }
    // Its messages are read at its end only: more than the pipe holds are dropped.
    _ = fcntl(errorWrite, F_SETFL, fcntl(errorWrite, F_GETFL) | O_NONBLOCK)
    var process: pid_t = 0
    let code = spawn(&process, program, arguments, (input, outputWrite, errorWrite))
    guard code == 0 else {
      close(outputRead)
      close(errorRead)
      throw SystemError(operation: "run", path: program, code: code)
    }
    return Child(process: process, output: outputRead, error: errorRead)
  }

  private static func spawn(
    _ process: inout pid_t, _ program: String, _ arguments: [String],
    _ standard: (input: Int32, output: Int32, error: Int32)
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
    posix_spawn_file_actions_adddup2(&actions, standard.input, 0)
    posix_spawn_file_actions_adddup2(&actions, standard.output, 1)
    posix_spawn_file_actions_adddup2(&actions, standard.error, 2)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A signal that is ignored here would be ignored there.
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGINT, SIGTERM] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var blocked = sigset_t()
    sigemptyset(&blocked)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    return posix_spawnp(&process, program, &actions, &attributes, words, environ)
  }

  /// A pipe that no child inherits by accident. Its ends are never 0, 1 or 2: those of a child are made
  /// by copying.
  private static func pipe(_ program: String) throws(SystemError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      let failed = Darwin.pipe(&ends) != 0
    #else
      let failed = Glibc.pipe(&ends) != 0
    #endif
    if failed { throw SystemError(operation: "pipe", path: program, code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Waits for a child's end, and forgets it: no zombie stays. Call once.
  package static func wait(for child: Int32) -> Ending {
    var raw: Int32 = 0
    while waitpid(child, &raw, 0) < 0 {
      if errno != EINTR { return .exited(0) }
    }
    let signal = raw & 0x7F
    return signal == 0 ? .exited((raw >> 8) & 0xFF) : .signalled(signal)
  }

  /// Ends a child at once. Only before `wait`: later its number may be another's.
  package static func end(_ child: Int32) { kill(child, SIGKILL) }

  /// Opens `/dev/null` for those of the three standard descriptors that are closed, the wrong way round
  /// for what they are for: else a database could be opened as standard output, and be printed into.
  package static func openStandardDescriptors() {
    for (descriptor, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is the one that is missing.
      #if canImport(Darwin)
        _ = Darwin.open("/dev/null", mode)
      #else
        _ = Glibc.open("/dev/null", mode)
      #endif
    }
  }

  /// Whether a path names a symbolic link.
  package static func isLink(_ path: String) -> Bool {
    var raw = stat()
    return lstat(path, &raw) == 0 && raw.st_mode & S_IFMT == S_IFLNK
  }
}
