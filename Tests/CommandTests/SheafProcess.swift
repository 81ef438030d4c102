#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Base
import Engine
import Synchronization
import Testing

/// Runs the built `sheaf` and collects what it prints.
///
/// Made on `posix_spawn` rather than Foundation's `Process`: its pipes are closed on exec from the
/// beginning, so that what other tests start at the same time does not hold them open, and each wait
/// has an end.
///
///     let result = try SheafProcess.run(["import", path, "--into", file])
///     let process = try SheafProcess(["import", "-", "--into", file])
///     try process.send("a,b\n1,2\n")
///     process.signal(SIGINT)
///     let result = process.finish()
///
/// Thread rule: one thread at a time.
final class SheafProcess {
  struct Result: Sendable {
    /// The exit status; nil when a signal ended the process.
    let status: Int32?
    /// The signal that ended the process.
    let signal: Int32?
    let output: [UInt8]
    let error: [UInt8]

    var outputText: String { String(decoding: output, as: UTF8.self) }
    var errorText: String { String(decoding: error, as: UTF8.self) }
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let identifier: pid_t
  private var input: Int32?
  private var isFinished = false
  /// What `waitpid` said of the program's end.
  private var ending: Int32?
  private let output: Collector
  private let error: Collector

  /// Runs to the end, with nothing, or `input`, on standard input.
  static func run(
    _ arguments: [String], input: [UInt8] = [], program: String? = nil,
    environment: [String: String] = [:]
  ) throws -> Result {
    let process = try SheafProcess(arguments, program: program, environment: environment)
    try process.send(input)
    return process.finish()
  }

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - program: another one than the built `sheaf`.
  ///   - environment: added to this process's own.
  init(
    _ arguments: [String], program other: String? = nil, environment: [String: String] = [:]
  ) throws {
    // Writing to a child that has ended must not end the tests.
    System.ignoreClosedPipes()
    let program = try other ?? Self.program()
    let (inputRead, inputWrite) = try System.pipe()
    let (outputRead, outputWrite) = try System.pipe()
    let (errorRead, errorWrite) = try System.pipe()
    defer { for descriptor in [inputRead, outputWrite, errorWrite] { close(descriptor) } }

    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, inputRead, 0)
    posix_spawn_file_actions_adddup2(&actions, outputWrite, 1)
    posix_spawn_file_actions_adddup2(&actions, errorWrite, 2)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The child starts with the signals as a shell would give them: none ignored, and none blocked
    // as they are on the threads that run tests.
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGINT, SIGTERM] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var blocked = sigset_t()
    sigemptyset(&blocked)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))

    let words =
      ([program] + arguments).map { word in
        strdup(PathText.bytes(word).map { CChar(bitPattern: $0) } + [0])
      } + [nil]
    let variables = Self.variables(adding: environment).map { strdup($0) } + [nil]
    defer { for pointer in words + variables { free(pointer) } }
    var started: pid_t = 0
    let code = posix_spawn(&started, program, &actions, &attributes, words, variables)
    guard code == 0 else {
      for descriptor in [inputWrite, outputRead, errorRead] { close(descriptor) }
      throw Failure(description: "cannot start \(program): \(code)")
    }
    identifier = started
    input = inputWrite
    // `send` waits for room only for a while.
    _ = fcntl(inputWrite, F_SETFL, fcntl(inputWrite, F_GETFL) | O_NONBLOCK)
    do {
      output = try Collector(outputRead)
      error = try Collector(errorRead)
    } catch {
      kill(started, SIGKILL)
      waitpid(started, nil, 0)
      throw error
    }
  }

  deinit {
    if isFinished { return }
    signal(SIGKILL)
    _ = finish()
  }

  /// Writes to standard input. A program that has stopped reading is no error; one that reads
  /// nothing for 240 seconds is.
  func send(_ bytes: [UInt8]) throws {
    guard let input else { return }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      if count > 0 {
        sent += count
        continue
      }
      guard count < 0, errno == EAGAIN || errno == EINTR else {
        if errno == EPIPE { return }
        throw Failure(description: "standard input of \(identifier): error \(errno)")
      }
      var request = pollfd(fd: input, events: Int16(POLLOUT), revents: 0)
      guard errno == EINTR || poll(&request, 1, 240_000) != 0 else {
        throw Failure(description: "process \(identifier) does not read its standard input")
      }
    }
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Ends standard input.
  func closeInput() {
    if let input { close(input) }
    input = nil
  }

  /// Stops reading standard output, as `head` does after its last line.
  func closeOutput(after count: Int) { output.close(after: count) }

  /// Sends a signal, unless the program has been seen to end: its number may be another's then.
  func signal(_ number: Int32) {
    if ending == nil { kill(identifier, number) }
  }

  /// Waits until standard error holds `text`, for at most about ten seconds.
  func waitForError(containing text: String) -> Bool {
    for _ in 0..<1000 {
      if String(decoding: error.bytes, as: UTF8.self).contains(text) { return true }
      System.sleep(milliseconds: 10)
    }
    return false
  }

  /// Waits until standard output holds `text`, for at most about twenty seconds.
  func waitForOutput(containing text: String) -> Bool {
    for _ in 0..<2000 {
      if String(decoding: output.bytes, as: UTF8.self).contains(text) { return true }
      System.sleep(milliseconds: 10)
    }
    return false
  }

  /// Whether the program has not ended yet.
  var isRunning: Bool {
    if ending == nil {
      var raw: Int32 = 0
      if waitpid(identifier, &raw, WNOHANG) != 0 { ending = raw }
    }
    return ending == nil
  }

  /// Waits until `condition` no longer holds, the program has ended, or twenty seconds are over.
  func waitWhile(_ condition: () -> Bool) {
    let deadline = System.monotonicNanoseconds + 20_000_000_000
    while isRunning, System.monotonicNanoseconds < deadline, condition() {
      // Short beside what is waited for, and long beside a look at it: processors are for the program.
      usleep(100)
    }
  }

  /// Ends standard input, waits for the end, and returns all there is to know.
  ///
  /// A program that has not ended after `seconds` is killed: a test then fails on the signal it
  /// finds in the result, instead of waiting for ever.
  func finish(within seconds: Int = 240) -> Result {
    closeInput()
    return wait(within: seconds)
  }

  /// Like `finish`, with standard input left open.
  func wait(within seconds: Int = 240) -> Result {
    let deadline = System.monotonicNanoseconds + UInt64(seconds) * 1_000_000_000
    var isKilled = false
    while isRunning {
      System.sleep(milliseconds: 2)
      if !isKilled, System.monotonicNanoseconds > deadline {
        signal(SIGKILL)
        isKilled = true
      }
    }
    closeInput()
    isFinished = true
    for pipe in [output, error] where !pipe.finish() {
      Issue.record("what process \(identifier) has started holds its output open")
    }
    let raw = ending ?? 0
    let number = raw & 0x7F
    return Result(
      status: number == 0 ? (raw >> 8) & 0xFF : nil, signal: number == 0 ? nil : number,
      output: output.bytes, error: error.bytes)
  }

  // MARK: The program

  /// A program that was built with the tests: in the folder of the test bundle, or above it.
  static func program(_ name: String = "sheaf") throws -> String {
    let bundle = try bundlePath()
    var folder = System.directory(of: bundle)
    for _ in 0..<5 {
      let path = folder + "/" + name
      if let status = try? System.status(path: path), status.isRegular { return path }
      folder = System.directory(of: folder)
    }
    throw Failure(description: "there is no \(name) beside \(bundle)")
  }

  /// The file that holds the code of these tests.
  private static func bundlePath() throws -> String {
    #if canImport(Darwin)
      var information = Dl_info()
      let found = dladdr(#dsohandle, &information) != 0 ? information.dli_fname : nil
      let resolved = found.flatMap { realpath($0, nil) }
    #else
      let resolved = realpath("/proc/self/exe", nil)
    #endif
    guard let resolved else { throw Failure(description: "cannot tell where the tests are") }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func variables(adding added: [String: String]) -> [String] {
    var variables: [String] = []
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      let name = String(text.prefix { $0 != "=" })
      if added[name] == nil { variables.append(text) }
      next += 1
    }
    return variables + added.map { "\($0.key)=\($0.value)" }
  }
}

/// Reads one pipe to its end on a thread of its own.
private final class Collector {
  private final class State: Sendable {
    let bytes = LockedBytes()
    /// Stop after so many bytes, and when there is nothing more after a moment.
    let limit = Atomic<Int>(.max)
    let isOver = Atomic<Bool>(false)
    /// Whether somebody can still write.
    let isHeld = Atomic<Bool>(true)
  }

  private let state = State()
  private let thread: Thread

  init(_ descriptor: Int32) throws {
    let state = self.state
    thread = try Thread(name: "collector") {
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      while state.bytes.count < state.limit.load(ordering: .relaxed) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Not before: what the program has written is there.
        let isOver = state.isOver.load(ordering: .acquiring)
        if poll(&request, 1, isOver ? 20_000 : 50) == 0 {
          if isOver { return System.close(descriptor) }
          continue
        }
        let count = piece.withUnsafeMutableBytes {
          (try? System.read(descriptor, into: $0, path: "pipe")) ?? 0
        }
        if count == 0 { break }
        state.bytes.append(piece[..<count])
      }
      state.isHeld.store(false, ordering: .releasing)
      System.close(descriptor)
    }
  }

  var bytes: [UInt8] { state.bytes.all }
  func close(after count: Int) { state.limit.store(count, ordering: .relaxed) }

  /// Reads to the end, when the program has ended; false if others can still write after 20 seconds.
  func finish() -> Bool {
    state.isOver.store(true, ordering: .releasing)
    thread.join()
    return !state.isHeld.load(ordering: .acquiring)
  }
}

private final class LockedBytes: @unchecked Sendable {
  // @unchecked: every access holds the lock.
  private let lock = Lock()
  private var bytes: [UInt8] = []

  var count: Int { lock.withLock { bytes.count } }
  var all: [UInt8] { lock.withLock { bytes } }
  func append(_ piece: ArraySlice<UInt8>) { lock.withLock { bytes.append(contentsOf: piece) } }
}
