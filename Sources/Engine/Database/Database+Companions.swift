import Base

extension Database {
  /// Why no other file may be written to a path: a database has, or will have, its lock file or a
  /// compaction's copy there. Nil for every other path.
  ///
  /// - Parameter own: a database that need not exist yet.
  /// - Complexity: a few system calls.
  /// - Throws: `SystemError` when the files cannot be read.
  package static func refusal(ofOutput path: String, own: String? = nil) throws(SystemError)
    -> String?
  {
    let path = try System.resolved(path)
    for (suffix, what) in [("-lock", "lock file"), ("-temporary", "temporary file")]
    where path.hasSuffix(suffix) {
      let database = String(path.dropLast(suffix.count))
      var isOwn = false
      if let own { isOwn = try System.resolved(own) == database }
      let isTaken = isOwn ? true : try isDatabase(at: database)
      if isTaken { return "it is the place of \(database)'s \(what)" }
    }
    return try CompanionFile.isMarked(path) ? "it is a file of a database's own" : nil
  }
}
