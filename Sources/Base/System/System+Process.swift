#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Signals, the end of the process, the terminal.
extension System {
  /// The words with which the program was started, its own name first; see `PathText`.
  package static var arguments: [String] {
    (0..<Int(CommandLine.argc)).map { CommandLine.unsafeArgv[$0].map { PathText.text($0) } ?? "" }
  }

  /// The type of handlers for `handle`: a plain function, because it may run only async-signal-safe code.
  package typealias SignalHandler = @convention(c) (Int32) -> Void

  /// The interrupt key of a terminal.
  package static let interruptSignal: Int32 = SIGINT
  /// A polite request to end.
  package static let terminationSignal: Int32 = SIGTERM
  /// The terminal has gone away.
  package static let hangupSignal: Int32 = SIGHUP

  /// Makes a write to a closed pipe fail with `EPIPE` instead of killing the process.
  package static func ignoreClosedPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Makes a write beyond the file-size limit fail with `EFBIG`, like a write to a full disk, instead of
  /// killing the process.
  package static func ignoreFileSizeLimit() {
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Runs `handler` whenever the signal arrives. System calls that it interrupts are resumed.
  package static func handle(signal number: Int32, _ handler: @escaping SignalHandler) {
    signal(number, handler)
  }

  /// Like `handle`, unless the parent process has made the signal ignored, as a shell does for background
  /// jobs.
  package static func handleUnlessIgnored(signal number: Int32, _ handler: @escaping SignalHandler)
  {
    var present = sigaction()
    guard sigaction(number, nil, &present) == 0 else { return }
    var ignored = sigaction()
    #if canImport(Darwin)
      ignored.__sigaction_u.__sa_handler = SIG_IGN
      let isIgnored =
        unsafeBitCast(present.__sigaction_u.__sa_handler, to: Int.self)
        == unsafeBitCast(ignored.__sigaction_u.__sa_handler, to: Int.self)
    #else
      ignored.__sigaction_handler.sa_handler = SIG_IGN
      let isIgnored =
        unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(ignored.__sigaction_handler.sa_handler, to: Int.self)
    #endif
    if !isIgnored { signal(number, handler) }
  }

  /// Seconds since 1970 by the system's clock.
  package static var secondsSince1970: Int { Int(time(nil)) }

  /// Ends the process after the C library's cleanup.
  package static func exit(_ status: Int32) -> Never {
    #if DEBUG
      CallFaults.tellCounts()
    #endif
    #if canImport(Darwin)
      Darwin.exit(status)
    #else
      Glibc.exit(status)
    #endif
  }

  /// Ends the process without cleanup; safe in a signal handler.
  package static func exitAtOnce(_ status: Int32) -> Never { _exit(status) }

  /// The address of a copy of a path that is never freed, for `removeAtOnce`; 0 without memory.
  package static func permanentCopy(_ path: String) -> UInt { UInt(bitPattern: strdup(path)) }

  /// Removes the file whose path `permanentCopy` stored at an address; safe in a signal handler.
  package static func removeAtOnce(_ address: UInt) {
    if let path = UnsafePointer<CChar>(bitPattern: address) { unlink(path) }
  }

  /// The width of the terminal of a descriptor, in columns; nil when it is not a terminal or the width is
  /// unknown.
  package static func terminalColumns(_ descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// The maximum resident memory of this process so far, in bytes.
  package static var peakMemory: Int {
    // On Linux, `getrusage` never reports less than the parent had when it started this process; the line in
    // /proc applies to this program alone.
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
      let path = try? resolved("/proc/self/exe")
      return path == "/proc/self/exe" ? nil : path
    #endif
  }
}
