import Base
import Engine

/// A file or standard output, written in large pieces.
///
/// The creator calls `flush` (or `close`) at the end: bytes still in the buffer when the object is released
/// are lost, because a failure to write them could not be reported.
///
/// Thread rule: one thread at a time. Cost: a copy of each byte, and one system call per 64 KiB.
final class BufferedOutput {
  static let capacity = 64 << 10

  private let descriptor: Int32
  private let path: String
  private let isStandard: Bool
  /// The temporary file, for a target that is replaced as a whole.
  private let replacement: ReplacementFile?
  private var replacesDatabase = false
  private var buffer: [UInt8] = []
  private var isOpen = true
  /// True when what is written tells of work whose status counts. If the reader of standard output closes it,
  /// the rest is left out, and the command goes on; otherwise it ends.
  var isReport = false
  /// True when the reader of a report is gone.
  private var isUnread = false

  private init(
    descriptor: Int32, path: String, isStandard: Bool, replacement: ReplacementFile? = nil
  ) {
    self.descriptor = descriptor
    self.path = path
    self.isStandard = isStandard
    self.replacement = replacement
    buffer.reserveCapacity(Self.capacity)
  }

  deinit {
    if replacement != nil {
      Interrupt.leavesUnfinished(nil)
    } else if isOpen, !isStandard {
      System.close(descriptor)
    }
  }

  static func standard() -> BufferedOutput {
    BufferedOutput(descriptor: 1, path: "standard output", isStandard: true)
  }

  /// A file that is replaced as a whole on `close`. Until then, and after any failure, the earlier file
  /// remains. A pipe or a device is written directly.
  ///
  /// - Parameter replacesDatabases: true when a Sheaf database that no process has open may be replaced.
  /// - Throws: a `CommandError` with status 73 when it is a symbolic link, a database or its lock file, or
  ///   cannot be created.
  static func file(_ path: String, replacesDatabases: Bool = false) throws(CommandError)
    -> BufferedOutput
  {
    try CommandError.refuseCompanion(path)
    var isLink = false
    do throws(SystemError) {
      switch try Target(path) {
      case .standardOutput: return .standard()
      case .written:
        return BufferedOutput(
          descriptor: try System.open(path, .append), path: path, isStandard: false)
      case .new: return try replacement(path, like: nil)
      case .replaced:
        // A file that the user may not write to is not replaced either.
        let model = try System.openRegular(path, writable: true)
        defer { System.close(model) }
        return try replacement(path, like: model)
      case .link: isLink = true
      case .database where replacesDatabases:
        let output = try replacement(path, like: nil)
        output.replacesDatabase = true
        return output
      case .database: break
      }
    } catch {
      throw .creation(error)
    }
    if isLink {
      throw CommandError(
        .cannotCreate,
        "\(path) is a symbolic link, and what it leads to is not written over; name that file itself"
      )
    }
    throw .replacesDatabase(path)
  }

  /// The way in which a path is written.
  private enum Target {
    case standardOutput, written, new, replaced, link, database

    init(_ path: String) throws(SystemError) {
      try System.checkPath(path)
      if path == "/dev/stdout" || path == "/dev/stderr" || path.hasPrefix("/dev/fd/")
        || path.hasPrefix("/proc/")
      {
        // An open descriptor: its position is up to the program that opened it.
        self = System.areTheSame(path, "/dev/stdout") ? .standardOutput : .written
        return
      }
      guard let status = try System.linkStatus(path: path) else {
        self = .new
        return
      }
      if status.isDirectory { throw SystemError.isADirectory(path) }
      self =
        status.isLink
        ? .link
        : !status.isRegular ? .written : try Database.isDatabase(at: path) ? .database : .replaced
    }
  }

  private static func replacement(_ path: String, like model: Int32?) throws(SystemError)
    -> BufferedOutput
  {
    let file = try ReplacementFile(for: path, like: model) { Interrupt.leavesUnfinished($0) }
    return BufferedOutput(
      descriptor: file.descriptor, path: path, isStandard: false, replacement: file)
  }

  func write(_ text: String) throws(CommandError) {
    buffer.append(contentsOf: text.utf8)
    try flushIfFull()
  }

  func write(_ bytes: [UInt8]) throws(CommandError) {
    try Self.withBytes(bytes) { bytes throws(CommandError) in try write(bytes) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(CommandError) {
    if bytes.count >= Self.capacity {
      try flush()
      try send(bytes)
      return
    }
    buffer.append(contentsOf: bytes)
    try flushIfFull()
  }

  private func flushIfFull() throws(CommandError) {
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes everything in the buffer to the file.
  ///
  /// - Throws: `CommandError.closedPipe` when the reader of standard output has closed it and it is no
  ///   report; an input/output error that names the file.
  func flush() throws(CommandError) {
    guard !buffer.isEmpty else { return }
    // Emptied even when the write fails: a second attempt would write the same bytes again.
    defer { buffer.removeAll(keepingCapacity: true) }
    try Self.withBytes(buffer) { bytes throws(CommandError) in try send(bytes) }
  }

  /// `withUnsafeBytes` with a typed error.
  private static func withBytes(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(CommandError) -> Void
  ) throws(CommandError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(CommandError) in try body(bytes) }
    }
    try result.get()
  }

  private func send(_ bytes: UnsafeRawBufferPointer) throws(CommandError) {
    if isUnread { return }
    do throws(SystemError) {
      if let replacement {
        try replacement.append(bytes)
      } else {
        try System.write(descriptor, bytes, path: path)
      }
    } catch {
      guard error.isClosedPipe && isStandard else { throw .transfer(error) }
      guard isReport else { throw .closedPipe }
      isUnread = true
    }
  }

  /// Flushes and closes; standard output stays open. A file that is replaced as a whole is replaced now.
  func close() throws(CommandError) {
    try flush()
    guard isOpen, !isStandard else { return }
    isOpen = false
    guard let replacement else { return System.close(descriptor) }
    do {
      if replacesDatabase {
        try Database.whileUnused(path) { try replacement.putInPlace(replacing: true) }
      } else {
        try replacement.putInPlace(replacing: true)
      }
    } catch let error as SystemError {
      throw error.operation == "rename" ? .creation(error) : .transfer(error)
    } catch {
      throw CommandError(unexpected: error)
    }
  }
}
