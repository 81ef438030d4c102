import Base

extension Database {
  /// A database of the newest version of a file, to be changed as if it were the file, which stays as it is:
  /// what is written goes to a scratch file without a name, which ends with the process. Others may write to
  /// the file meanwhile, which is not seen.
  ///
  /// - Parameters:
  ///   - file: opened, and open until the rehearsal is closed; nil: there is none yet.
  ///   - path: of the file that is rehearsed for.
  ///   - options: of the rehearsal.
  ///   - folder: where the scratch file is.
  /// - Complexity: O(1), and time and room of what is written then.
  /// - Throws: `EngineError.system` about the scratch file, `.busy`, `.damaged`; as `snapshot`.
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
      // Kept versions may end behind the newest.
      let last = others.map(\.record.end).max().map { max($0, record.end) } ?? record.end
      guard let end = Int(exactly: last) else {
        throw EngineError.tooLarge(what: "the end of the version", limit: "2^63")
      }
      // Not those of the file, which may be behind the version, and go on to newer ones.
      let slots =
        CommitSlot(record: record, identity: .random()).page()
        + [UInt8](repeating: 0, count: Layout.firstBlockOffset - Layout.pageBytes)
      let storage = try slots.withUnsafeBytes {
        try RehearsalStorage(
          version.blocks.storage, end: end, slots: $0, path: path, folder: folder, holding: others)
      }
      return (try Database.open(storage: storage, options: options), version)
    }
  }
}
