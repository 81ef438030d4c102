import Base

extension Database {
  /// A database that begins as the newest version of a file and can be changed without changing the file. It
  /// writes to an unnamed scratch file, which ends with the process. It does not see later changes of the
  /// file.
  ///
  /// - Parameters:
  ///   - file: an open database, which must stay open until the rehearsal is closed; nil when the file does
  ///     not exist.
  ///   - path: the path of the file.
  ///   - options: the options of the rehearsal.
  ///   - folder: the folder of the scratch file.
  /// - Complexity: O(1), plus the time and space for what is written.
  /// - Throws: `EngineError.system` for the scratch file, `.busy`, `.damaged`; the errors of `snapshot`.
  package static func rehearsal(
    of file: Database?, path: String, options: Options, folder: String
  ) throws -> (database: Database, version: Snapshot?) {
    try translatingErrors(path) {
      var options = options
      options.access = .create
      options.durability = Durability.none
      guard let file else {
        let storage = try RehearsalStorage(
          nil, end: 0, slots: UnsafeRawBufferPointer(start: nil, count: 0), path: path,
          folder: folder)
        return (try Database.open(storage: storage, options: options), nil)
      }
      let (version, others) = try file.heldVersions(withPending: true)
      let record = version.record
      // A kept version may end beyond the newest one.
      let last = others.map(\.record.end).max().map { max($0, record.end) } ?? record.end
      guard let end = Int(exactly: last) else {
        throw EngineError.tooLarge(what: "the end of the version", limit: "2^63")
      }
      // The file's own slots may name an older version, and later name newer ones.
      let slot = CommitSlot(record: record, identity: .random()).page()
      let slots = slot + slot
      let storage = try slots.withUnsafeBytes {
        try RehearsalStorage(
          version.blocks.storage, end: end, slots: $0, path: path, folder: folder, holding: others)
      }
      return (try Database.open(storage: storage, options: options), version)
    }
  }
}
