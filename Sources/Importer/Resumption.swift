import Engine

/// Finds out how far an input has been imported into a table before.
///
/// An input is known by where it is read from, or, for one whose file was moved, by the size of the file;
/// and it is that input only if the bytes which were committed are there again, all of them.
struct Resumption {
  enum Finding {
    /// Nothing of it was imported.
    case fresh
    /// The splitter stands behind what was committed.
    case goesOn(Checkpoint)
    /// Nothing is left to do.
    case complete(Checkpoint)
    /// Something of it was imported, but it is not what it was.
    case changed(reason: String)
  }

  let file: InputFile
  /// What the table remembers, the newest last.
  let known: [Checkpoint]
  /// The keys of all inputs of this import: what belongs to one of them belongs to no other.
  let claimed: Set<UInt64>
  let isCancelled: @Sendable () -> Bool
  let open: () throws -> InputPlanner.Opened

  /// - Parameter opened: the input behind its header; put in place of another one where it was read
  ///   to no avail.
  func find(_ opened: inout InputPlanner.Opened) throws -> Finding {
    if let own = known.last(where: { $0.input.name == file.key }) {
      return try compare(own, opened)
    }
    guard file.canBeReadAgain else { return .fresh }
    for moved in known.reversed()
    where moved.input.size == file.size && !claimed.contains(moved.input.name) {
      let finding = try compare(moved, opened)
      if case .changed = finding {
        opened = try open()
        continue
      }
      return finding
    }
    return .fresh
  }

  private func compare(_ checkpoint: Checkpoint, _ opened: InputPlanner.Opened) throws -> Finding {
    let splitter = opened.splitter
    let skipped = try splitter.skip(
      to: checkpoint.byteOffset, checksum: checkpoint.checksum, isCancelled: isCancelled)
    let before = checkpoint.isComplete ? "was completed" : "was begun"
    switch skipped {
    case .tooShort:
      return .changed(
        reason:
          "it has changed since its import \(before): it has \(splitter.byteOffset) bytes now, "
          + "and \(checkpoint.byteOffset) were imported")
    case .different:
      return .changed(
        reason:
          "it has changed since its import \(before): its first \(checkpoint.byteOffset) bytes are "
          + "not those that were imported")
    case .done(let endsLine):
      var going = checkpoint
      if checkpoint.isComplete {
        if try splitter.isAtEnd() { return .complete(checkpoint) }
        guard endsLine, !checkpoint.endsWithReject else {
          return .changed(
            reason: "it has grown since its import was completed, and its last record then, at "
              + "byte \(checkpoint.byteOffset), may have been cut off")
        }
        // Whatever was added to it is new.
        going.classes = []
      }
      splitter.goOn(line: checkpoint.line, record: checkpoint.records + 1)
      return .goesOn(going)
    }
  }
}
