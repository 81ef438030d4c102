#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A kind of operating-system call, by the name that tests use.
package enum CallKind: String, CaseIterable, Sendable {
  case open, stat, read, write, seek, flush, resize, rename, remove, link, map, lock, access
  case folder, path, space, pipe, poll, watch, start, wait, thread

  /// True when it waits for an event: a signal is one, too.
  @inline(__always) var waits: Bool { self == .poll || self == .watch }
}

/// A fault that a test injects into a call.
enum CallFault: Sendable {
  /// The call is skipped and fails with this error number.
  case code(Int32)
  /// The call moves half of the requested bytes.
  case short
}

extension System {
  /// Makes a call that reports failure by a negative number and `errno`. Repeats it when a signal has
  /// interrupted it, unless it waits for an event. Every wrapper's call uses this, or `failure` before it, so
  /// that a test can make it fail.
  @inline(__always)
  static func call<Outcome: SignedInteger>(_ kind: CallKind, _ body: () -> Outcome) -> Outcome {
    Outcome(truncatingIfNeeded: call(kind, bytes: 0) { _ in Int(truncatingIfNeeded: body()) })
  }

  /// Like `call`, for a call that may move fewer bytes than requested.
  ///
  /// - Parameter body: receives the number of bytes to request.
  @inline(__always)
  static func call(_ kind: CallKind, bytes count: Int, _ body: (Int) -> Int) -> Int {
    while true {
      var outcome = -1
      switch fault(of: kind) {
      case .code(let code): errno = code
      case .short: outcome = body(max(1, count / 2))
      case nil: outcome = body(count)
      }
      if outcome >= 0 || errno != EINTR || kind.waits { return outcome }
    }
  }

  /// The error number with which a call must fail without being made; nil: it is made.
  @inline(__always)
  static func failure(of kind: CallKind) -> Int32? {
    if case .code(let code) = fault(of: kind) { code } else { nil }
  }

  @inline(__always)
  private static func fault(of kind: CallKind) -> CallFault? {
    #if DEBUG
      CallFaults.next(kind)
    #else
      nil
    #endif
  }
}

#if DEBUG
  /// Makes one operating-system call fail, and counts the calls: for tests of whole programs, in debug builds
  /// only.
  ///
  /// The environment variable `SHEAF_FAULT` selects it: `write:17:EIO:FILE` the 17th write,
  /// `write:17+:ENOSPC:FILE` that one and all later ones, `read:3:short:FILE` half of the bytes of a read;
  /// `flush:2:kill:FILE` kills the process there, and `path:2:trap:FILE` shows the caller. FILE gets a line
  /// when it happens, and one with the number of calls of each kind when the process ends; `count:FILE` makes
  /// none fail.
  ///
  /// Thread rule: any thread.
  package enum CallFaults {
    private struct Plan: Sendable {
      let kind: CallKind?
      let numbers: ClosedRange<UInt64>
      /// Nil: the process is killed there.
      let fault: CallFault?
      let isKill: Bool
      let file: String
      let word: String
    }

    private static let codes: [Substring: Int32] = [
      "EIO": EIO, "ENOSPC": ENOSPC, "EINTR": EINTR, "EMFILE": EMFILE, "ENFILE": ENFILE,
      "ENOMEM": ENOMEM, "EACCES": EACCES, "EPERM": EPERM, "EAGAIN": EAGAIN, "ENOLCK": ENOLCK,
      "EDQUOT": EDQUOT, "EFBIG": EFBIG, "EROFS": EROFS, "EBUSY": EBUSY,
    ]

    private static let plan: Plan? = {
      guard let raw = getenv("SHEAF_FAULT") else { return nil }
      let text = String(cString: raw)
      let words = text.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      if words.count >= 2, words[0] == "count" {
        return Plan(
          kind: nil, numbers: 0...0, fault: nil, isKill: false, file: String(text.dropFirst(6)),
          word: text)
      }
      guard words.count == 4, let kind = CallKind(rawValue: String(words[0])),
        let number = UInt64(words[1].filter { $0 != "+" })
      else { preconditionFailure("SHEAF_FAULT cannot be read: \(text)") }
      let fault: CallFault? = words[2] == "short" ? .short : codes[words[2]].map { .code($0) }
      let ends = words[2] == "trap" || words[2] == "kill"
      precondition(fault != nil || ends, "SHEAF_FAULT has no such error: \(text)")
      return Plan(
        kind: kind, numbers: number...(words[1].hasSuffix("+") ? .max : number), fault: fault,
        isKill: words[2] == "kill", file: String(words[3]),
        word: words[0...2].joined(separator: ":"))
    }()

    private struct Counts: @unchecked Sendable {
      // @unchecked: the memory is accessed only through atomic operations.
      let memory: UnsafeMutableRawPointer

      init() {
        let count = CallKind.allCases.count
        memory = .allocate(byteCount: count * 8, alignment: 8)
        memory.initializeMemory(as: UInt64.self, repeating: 0, count: count)
      }

      func word(_ kind: CallKind) -> AtomicWord {
        AtomicWord(memory + (CallKind.allCases.firstIndex(of: kind) ?? 0) * 8)
      }
    }

    private static let counts = Counts()

    /// Counts a call and returns its fault; nil: it is made as usual.
    @inline(__always)
    static func next(_ kind: CallKind) -> CallFault? {
      plan == nil ? nil : planned(kind)
    }

    private static func planned(_ kind: CallKind) -> CallFault? {
      let number = counts.word(kind).increment()
      guard let plan, plan.kind == kind, plan.numbers.contains(number) else { return nil }
      note("\(plan.word)\n")
      if plan.isKill { kill(getpid(), SIGKILL) }
      guard let fault = plan.fault else { preconditionFailure("\(plan.word)") }
      return fault
    }

    /// Appends the numbers of calls to the file, at the end of the process.
    package static func tellCounts() {
      guard plan != nil else { return }
      let all = CallKind.allCases.map { "\($0.rawValue)=\(counts.word($0).load())" }
      note(all.joined(separator: " ") + "\n")
    }

    private static func note(_ line: String) {
      guard let plan else { return }
      #if canImport(Darwin)
        let descriptor = Darwin.open(plan.file, O_WRONLY | O_CREAT | O_APPEND, 0o644)
      #else
        let descriptor = Glibc.open(plan.file, O_WRONLY | O_CREAT | O_APPEND, 0o644)
      #endif
      guard descriptor >= 0 else { return }
      var line = line
      #if canImport(Darwin)
        _ = line.withUTF8 { Darwin.write(descriptor, $0.baseAddress, $0.count) }
        _ = Darwin.close(descriptor)
      #else
        _ = line.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        _ = Glibc.close(descriptor)
      #endif
    }
  }
#endif
