import Base

/// Gives the lock file the access rights of its database. A user who may not open the database then cannot
/// hold locks on the lock file either, for which others would wait.
enum LockFileAccess {
  /// Opens the lock file of a database, or creates it: for its owner, and for users who have equal rights to
  /// the database through their group and as others.
  ///
  /// - Throws: `ObstructionError` when something that is not Sheaf's has the name; `SystemError`.
  static func open(_ path: String, _ database: String) throws -> Int32 {
    // A database that does not exist yet gets the permissions of any new file.
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
      // Another process may have just created it, and not set its permissions yet.
      guard let database, let present = try System.linkStatus(path: path),
        present.permissions != permissions(for: database)
      else { throw error }
      System.sleep(milliseconds: 5)
      return try open()
    }
  }

  /// Gives the lock file the owner, group, permissions and access list of the database; its owner may always
  /// write it.
  ///
  /// The permissions of a database may change while it is open: the next permitted user who opens it corrects
  /// the lock file.
  ///
  /// - Throws: `SystemError`.
  static func share(_ descriptor: Int32, _ path: String, of database: String) throws(SystemError) {
    let present = try System.status(descriptor, path: path)
    let user = System.userIdentifier
    // A file with a second name may belong to another user.
    guard present.links == 1, user == 0 || user == present.owner else { return }
    // Opening the database for use reports why it cannot be opened.
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
