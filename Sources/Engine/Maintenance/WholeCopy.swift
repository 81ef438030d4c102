import Base

/// Copies a version with all its kept versions block by block: into an empty file, or as the next version of
/// an earlier copy.
struct WholeCopy {
  let source: VersionRoots
  let blocks: BlockReader
  let shouldStop: () -> Bool

  /// Copies all blocks that the other file lacks.
  ///
  /// - Parameters:
  ///   - memory: the copy's records of its original.
  ///   - isBackup: whether to record the copied blocks; otherwise only the version is recorded.
  ///   - old: the copy's history so far.
  /// - Returns: the catalogue and the history of the copy; the caller writes the catalogue.
  /// - Throws: `BlockError`, `ClusterError`, `DecodingFailure` when the source is damaged; `SystemError`;
  ///   `EngineError.cancelled`.
  func run(
    _ transfer: inout BlockTransfer, _ writer: BlockWriter, _ target: BlockReader,
    memory: CopiedBlocks, isBackup: Bool = true, old: History = History()
  ) throws -> (Catalogue, History) {
    var catalogue = source.catalogue
    let name = Catalogue.ownName(CopiedBlocks.purpose)
    if let place = catalogue.place(named: name) {
      let number = catalogue.tables[place].number
      if number == catalogue.nextTableNumber - 1 { catalogue.nextTableNumber = number }
      catalogue.remove(at: place)
    }
    try transfer.copyTables(of: &catalogue, end: source.record.end)
    let history = try transfer.copyKept(source.history(blocks), known: old)
    catalogue.history = try history.write { try transfer.put(node: $0) }
    var memory = memory
    if isBackup {
      for block in transfer.made { memory.add(block.place, madeOf: block.checksum) }
    }
    let next = catalogue.nextTableNumber &+ 1
    guard next > 0, next < .max else {
      throw EngineError.tooLarge(what: "a table's number", limit: "2^32")
    }
    let note = isBackup ? CopiedBlocks.noteName : CopiedBlocks.originNoteName
    catalogue.add(
      try memory.write(number: catalogue.nextTableNumber, as: note, writer, target))
    catalogue.nextTableNumber = next
    return (catalogue, history)
  }

  /// Writes the copy into an empty file, flushed.
  ///
  /// - Returns: the bytes written.
  func write(
    to target: any Storage, _ identity: DatabaseIdentity, remembers: Bool
  ) throws -> Int {
    let space = SpaceMap(version: 0)
    let writer = BlockWriter(storage: target, space: space, length: try target.length())
    let targetBlocks = try BlockReader(storage: target)
    var transfer = BlockTransfer(blocks, writer, in: targetBlocks, shouldStop: shouldStop)
    // What is restored goes its own way from here on, whatever becomes of the copy's original.
    let line =
      remembers
      ? try CopiedBlocks.line(of: source.catalogue)
      : CopiedBlocks.Line(mark: .random(in: 1...(.max)), begin: source.record.version)
    let memory = CopiedBlocks(
      version: source.record.version, root: source.record.root.checksum, line: line)
    let (catalogue, history) = try run(
      &transfer, writer, targetBlocks, memory: memory, isBackup: remembers)
    let root = try transfer.put(node: catalogue.encode())
    try writer.writeOut()
    try writer.commit(version: source.record.version)
    let record = VersionRecord(
      version: source.record.version, root: root,
      end: UInt64(space.liveEnd * Layout.pageBytes), hasHistory: catalogue.history != nil,
      hasCompoundKeys: catalogue.hasCompoundKeys(after: source.record),
      hasParts: history.fillsPart)
    let end = Int(record.end)
    if try target.length() != end { try target.resize(to: end) }
    try target.flush()
    // Another reader, which has not verified any block before it was written out.
    try transfer.verify(
      try BlockReader(storage: target), own: CopiedBlocks.table(of: catalogue))
    let page = CommitSlot(record: record, identity: identity).page()
    for index in 0..<Layout.slotCount {
      try page.withUnsafeBytes { try target.write($0, at: index * Layout.pageBytes) }
    }
    try target.flush()
    return writer.bytesWritten
  }
}
