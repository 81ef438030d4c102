import Engine

/// A file or standard output, written in large pieces.
///
/// Thread rule: one thread at a time. Cost: a copy of each byte, and one system call per 64 KiB.
/// Whoever creates one calls `flush` (or `close`) at the end: what is still in the buffer when the
/// object goes away is lost, because a failure could no longer be told.
final class BufferedOutput {
  static let capacity = 64 << 10

  private let descriptor: Int32
  private let path: String
  private let isStandard: Bool
  private var buffer: [UInt8] = []
  private var isOpen = true

  private init(descriptor: Int32, path: String, isStandard: Bool) {
    self.descriptor = descriptor
    self.path = path
    self.isStandard = isStandard
    buffer.reserveCapacity(Self.capacity)
  }

  deinit {
    if isOpen, !isStandard { System.close(descriptor) }
  }

  static func standard() -> BufferedOutput {
    BufferedOutput(descriptor: 1, path: "standard output", isStandard: true)
  }

  /// Creates a file, or empties an existing one.
  ///
  /// - Throws: a creation error, also where a database has its lock file.
  static func file(_ path: String) throws(CommandError) -> BufferedOutput {
    try CommandError.refuseCompanion(path)
    do {
      let descriptor = try System.open(path, .truncate)
      return BufferedOutput(descriptor: descriptor, path: path, isStandard: false)
    } catch {
      throw .creation(error)
    }
  }

  func write(_ text: String) throws(CommandError) {
    buffer.append(contentsOf: text.utf8)
    try flushIfFull()
  }

  func write(_ bytes: [UInt8]) throws(CommandError) {
    if bytes.count >= Self.capacity {
      try flush()
      try send(bytes)
      return
    }
    buffer.append(contentsOf: bytes)
    try flushIfFull()
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(CommandError) {
    buffer.append(contentsOf: bytes)
    try flushIfFull()
  }

  private func flushIfFull() throws(CommandError) {
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Hands everything written so far to the system.
  ///
  /// - Throws: `CommandError.closedPipe` when the reader of standard output has gone, or an
  ///   input/output error that names the file.
  func flush() throws(CommandError) {
    guard !buffer.isEmpty else { return }
    // Emptied even when the write fails: a second try would repeat what had been written.
    defer { buffer.removeAll(keepingCapacity: true) }
    try send(buffer)
  }

  private func send(_ bytes: [UInt8]) throws(CommandError) {
    let result = bytes.withUnsafeBytes { raw -> SystemError? in
      do throws(SystemError) {
        try System.write(descriptor, raw, path: path)
        return nil
      } catch {
        return error
      }
    }
    guard let failure = result else { return }
    throw failure.isClosedPipe && isStandard ? .closedPipe : .transfer(failure)
  }

  /// Flushes and closes; standard output stays open.
  func close() throws(CommandError) {
    try flush()
    guard isOpen, !isStandard else { return }
    isOpen = false
    System.close(descriptor)
  }
}
