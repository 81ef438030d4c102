extension Database {
  /// Why nothing else may be written to a path: it is where a database has, or will have, its lock file or the copy
  /// that a compaction writes. Nil for every other path.
  ///
  /// - Parameter own: a database that need not be there yet.
  /// - Complexity: a few system calls.
  package static func refusal(ofOutput path: String, own: String? = nil) -> String? {
    let path = System.resolved(path)
    for (suffix, what) in [("-lock", "lock file"), ("-temporary", "temporary file")]
    where path.hasSuffix(suffix) {
      let database = String(path.dropLast(suffix.count))
      let isOwn = own.map { System.resolved($0) == database } ?? false
      if isOwn || isDatabase(at: database) { return "it is the place of \(database)'s \(what)" }
    }
    return CompanionFile.isMarked(path) ? "it is a file of a database's own" : nil
  }
}
