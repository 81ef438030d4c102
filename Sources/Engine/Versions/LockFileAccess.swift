import Base

/// Who may open a lock file: those who may open its database. Who may not has no locks on it
/// either, which others would wait for.
enum LockFileAccess {
  /// Opens the lock file of a database, and creates it where it is missing: for its owner, and for
  /// those who may do as much with the database whatever their group is.
  ///
  /// - Throws: `ObstructionError` when the name is somebody else's; `SystemError`.
  static func open(_ path: String, _ database: String) throws -> Int32 {
    // A database that is not there yet gets the permissions of any new file.
    let database = try System.statusIfPresent(path: database)?.permissions
    let others = (database ?? 0o006) & 0o006
    let first = database.map { 0o600 | ($0 & others << 3) | others } ?? 0o644
    func open() throws -> Int32 {
      try CompanionFile.open(
        path, .lock, permissions: first, emptyUpTo: Coordination.Offset.bytes)
    }
    do {
      return try open()
    } catch let error as SystemError where error.isReadOnly {
      // Somebody may have created it just now, and is about to share it.
      guard let database, let present = try System.linkStatus(path: path),
        present.permissions != permissions(for: database)
      else { throw error }
      System.sleep(milliseconds: 5)
      return try open()
    }
  }

  /// Gives the lock file the owner, the group, the permissions and the access list of the database,
  /// but that its owner may write it.
  ///
  /// The permissions of a database may change while it is open: who opens it next, and may do so,
  /// puts the lock file right.
  ///
  /// - Throws: `SystemError`.
  static func share(_ descriptor: Int32, _ path: String, of database: String) throws(SystemError) {
    let present = try System.status(descriptor, path: path)
    let user = System.userIdentifier
    // A second name may be somebody's own.
    guard present.links == 1, user == 0 || user == present.owner else { return }
    // What cannot be opened is told by whoever opens it for use.
    guard let model = try? System.openRegular(database, writable: false) else { return }
    defer { System.close(model) }
    let wanted = try System.status(model, path: database)
    if present.permissions == permissions(for: wanted.permissions),
      present.owner == wanted.owner, present.group == wanted.group,
      try System.hasSameAccessList(descriptor, model, path: path)
    {
      return
    }
    try System.copyAccessAsAllowed(from: model, to: descriptor, path: path)
    let given = try System.status(descriptor, path: path).permissions
    if given != permissions(for: given) {
      try System.setPermissions(of: descriptor, to: permissions(for: given), path: path)
    }
  }

  private static func permissions(for database: UInt32) -> UInt32 { database & 0o666 | 0o600 }
}
