import Base

/// Finds or creates the lock file, and joins its participants.
extension Coordination {
  /// Opens the lock file and takes the registration and presence locks; returns true when no other handle has
  /// the database open.
  ///
  /// - Throws: `ObstructionError` when something that is not Sheaf's has the name; `CoordinationError.held`;
  ///   `EngineError.cancelled`; `SystemError`.
  static func enter(_ path: String, _ database: String, _ waiting: Waiting) throws
    -> (Int32, alone: Bool)
  {
    var patience: Patience? = Patience(waiting, least: momentSeconds)
    // Several handles that wait for one compaction also hold the registration lock for moments; the notice
    // must name the compaction, not these.
    var obstacle = Held.registration
    while true {
      let descriptor = try register(path, database, obstacle, &patience)
      do {
        let alone = try System.lock(
          descriptor, .exclusive, at: LockByte.presence, length: 1, wait: false, path: path)
        if try !alone
          && !System.lock(
            descriptor, .shared, at: LockByte.presence, length: 1, wait: false, path: path)
        {
          // Releases the registration lock during the pause: otherwise others would wait for it, and could
          // not determine that a compaction is the cause.
          _ = try System.lock(
            descriptor, .none, at: LockByte.registration, length: 1, wait: false, path: path)
          obstacle = .presence
          try pause(
            for: obstacle, at: LockByte.presence, descriptor, path: path, &patience)
          System.close(descriptor)
          continue
        }
        // The last participant removes the file; if that has happened meanwhile, start again.
        if try CompanionFile.isNamed(path, descriptor) {
          let size = try System.status(descriptor, path: path).size
          if size < Offset.bytes { try fill(descriptor, from: size, path: path) }
          return (descriptor, alone)
        }
      } catch {
        System.close(descriptor)
        throw error
      }
      System.close(descriptor)
    }
  }

  /// The minimum wait for locks that are held only for moments, even if the caller does not want to wait.
  static let momentSeconds = 0.1

  /// Opens the lock file and takes the registration lock.
  ///
  /// - Parameter obstacle: the cause of the wait, for notices and errors.
  private static func register(
    _ path: String, _ database: String, _ obstacle: Held,
    _ patience: inout Patience?
  ) throws -> Int32 {
    let descriptor = try LockFileAccess.open(path, database)
    do {
      try take(
        obstacle, .exclusive, at: LockByte.registration, descriptor, path: path, &patience)
      try LockFileAccess.share(descriptor, path, of: database)
      return descriptor
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// Runs `body` while the database is not open and cannot be opened, then removes the lock file.
  ///
  /// - Returns: false, without running `body`, when this process or another has the database open.
  /// - Throws: `CoordinationError.held` when another handle has been opening it for too long; the errors of
  ///   `body`.
  package static func whileUnused(
    _ path: String, database: String, _ body: () throws -> Void
  ) throws -> Bool {
    var patience: Patience? = Patience(Waiting())
    while true {
      let descriptor = try register(path, database, .registration, &patience)
      // A process that waits for the locks then finds the file removed, and creates another.
      defer { System.close(descriptor) }
      guard try CompanionFile.isNamed(path, descriptor) else { continue }
      guard
        try System.lock(
          descriptor, .exclusive, at: LockByte.presence, length: 1, wait: false, path: path)
      else { return false }
      defer {
        if (try? CompanionFile.isNamed(path, descriptor)) == true { try? System.remove(path) }
      }
      try body()
      return true
    }
  }

  /// Writes the whole length of the lock file: if the disk had no space for a hole in it, writing to the
  /// mapping would end the process. The mark is written first.
  private static func fill(_ descriptor: Int32, from start: Int, path: String)
    throws(SystemError)
  {
    // A file system that writes every block to a new place may lack space even for an existing page.
    if start == 0 { System.writeInPlace(descriptor) }
    let mark = start == 0 ? CompanionFile.Mark.lock.bytes : []
    let bytes = mark + [UInt8](repeating: 0, count: Offset.bytes - start - mark.count)
    let failure = bytes.withUnsafeBytes { bytes -> SystemError? in
      do throws(SystemError) {
        try System.write(descriptor, at: start, bytes, path: path)
        return nil
      } catch {
        return error
      }
    }
    guard let failure else { return }
    // A file that is too short has no participants yet.
    try System.remove(path)
    throw failure
  }

  static func isOfThisLayout(_ memory: UnsafeMutableRawPointer) -> Bool {
    word(memory, 0).load() == magic && word(memory, 8).load() == layoutVersion
  }

  /// The database file that the participants have open.
  static func openFile(
    _ memory: UnsafeMutableRawPointer, path: String
  ) throws(CoordinationError) -> FileIdentity {
    guard isOfThisLayout(memory) else { throw CoordinationError.foreignLockFile(path) }
    return FileIdentity(
      device: word(memory, Offset.device).load(), inode: word(memory, Offset.inode).load())
  }

  /// Finds a participant's byte that is not locked, and clears the reader slots of its last owner.
  static func takePlace(
    _ descriptor: Int32, _ memory: UnsafeMutableRawPointer, path: String
  ) throws -> (Int, UInt64) {
    for index in 0..<LockByte.participantCount
    where try System.lock(
      descriptor, .exclusive, at: LockByte.participants + index, length: 1, wait: false,
      path: path)
    {
      // The slots of a killed participant have no owner; once the new participant locks the byte, they would
      // look alive.
      for slot in 0..<Offset.allSlotCount {
        let owner = word(memory, Offset.readers + slot * 64)
        let left = owner.load()
        if left & 0xFFFF == UInt64(index + 1) { _ = owner.exchange(left, with: 0) }
      }
      let number = word(memory, Offset.nextToken).increment()
      return (index, number << 16 | UInt64(index + 1))
    }
    throw CoordinationError.tooManyParticipants(path, LockByte.participantCount)
  }
}
