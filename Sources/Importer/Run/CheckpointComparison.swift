import Base
import Engine

/// Compares an input with the checkpoints in a table, to find how far it has been imported.
///
/// An input is recognized by its path or, with `--same-input contents`, by its bytes. In both cases it must
/// begin with all bytes that were committed.
struct CheckpointComparison {
  enum Finding {
    /// Nothing of the input was imported.
    case fresh
    /// The import continues: the splitter is positioned after the committed records.
    case goesOn(Checkpoint)
    /// The whole input was imported.
    case complete(Checkpoint)
    /// A part of the input was imported, but the input has changed.
    case changed(reason: String, Growth)
  }

  /// Whether an input that has changed begins with all bytes of a complete import, whose last record may have
  /// been cut off.
  enum Growth {
    case none
    /// It goes on within a line. A short input may be the beginning of another by chance.
    case withinLine
    case withOtherLines
  }

  let file: InputFile
  let memory: InputMemory
  let options: ImportOptions

  private var goesByContents: Bool {
    options.sameInput == .contents && file.canBeReadAgain
  }

  /// - Parameters:
  ///   - opened: the input, positioned after its header; replaced by a new opening if it was read in vain.
  ///   - inputs: all inputs of the import.
  ///   - open: opens the input again.
  func find(
    _ opened: inout InputPlanner.Opened, among inputs: [InputFile],
    open: () throws -> InputPlanner.Opened
  ) throws -> Finding {
    let own = try memory.checkpoint(of: file.key)
    let changed = try own.map { try compare($0, opened.splitter) }
    guard let changed else {
      return goesByContents ? try findByContents(&opened, open: open) : .fresh
    }
    guard goesByContents, let own, case .changed(_, let growth) = changed else { return changed }
    opened = try open()
    let found = try findByContents(&opened, open: open)
    guard case .fresh = found, own.hasObjects else { return found }
    // A log that was rotated has a new file under the old path, and its records elsewhere. But the same file
    // with more behind its last record is none, nor is one of which an import has read a part.
    if own.isComplete, growth == .none { return .fresh }
    return try inputs.contains { try isMoved(own, to: $0) } ? .fresh : changed
  }

  /// Returns whether another input begins with what was imported of this one: then its file was renamed.
  private func isMoved(_ begun: Checkpoint, to other: InputFile) throws -> Bool {
    guard other.canBeReadAgain, other.key != file.key else { return false }
    let skipped = try splitter(of: other.path).skip(
      to: begun.byteOffset, checksum: begun.checksum, isCancelled: options.shouldStop)
    if case .done = skipped { return true }
    return false
  }

  private func findByContents(
    _ opened: inout InputPlanner.Opened, open: () throws -> InputPlanner.Opened
  ) throws -> Finding {
    if let complete = try completeContents() { return .complete(complete) }
    for moved in try memory.begun().reversed()
    where moved.input.size == file.size && moved.input.name != file.key {
      let finding = try compare(moved, opened.splitter)
      if case .changed = finding {
        opened = try open()
        continue
      }
      return finding
    }
    guard let grown = try grownContents() else { return .fresh }
    let finding = try compare(grown, opened.splitter)
    guard case .changed(_, let growth) = finding else { return finding }
    if grown.hasObjects, growth == .withOtherLines || grown.records >= Self.fewRecords {
      return finding
    }
    opened = try open()
    return .fresh
  }

  /// With fewer records, another input may have the same beginning by chance.
  private static let fewRecords = 2

  /// The longest input with whose imported bytes this one begins, and which its own path no longer has: it
  /// was renamed and has grown, as a log does that is rotated. An input that lies beside it is another one.
  private func grownContents() throws -> Checkpoint? {
    let splitter = try splitter()
    var found: Checkpoint?
    // A pipe has no place where its bytes could be looked for, and no older note has one.
    for known in try (memory.complete() + memory.begun()).sorted(by: {
      $0.byteOffset < $1.byteOffset
    })
    where known.records >= (known.isComplete ? 1 : Self.fewRecords) && known.input.name != file.key
      && known.input.path.hasPrefix("/")
    {
      switch try splitter.skip(
        to: known.byteOffset, checksum: known.checksum, isCancelled: options.shouldStop)
      {
      case .done: if try !isStillThere(known) { found = known }
      case .different: continue
      case .tooShort: return found
      }
    }
    return found
  }

  /// Returns whether the path of an input still has its bytes, or cannot be read.
  private func isStillThere(_ known: Checkpoint) throws -> Bool {
    guard try System.statusIfPresent(path: known.input.path) != nil else { return false }
    do {
      let skipped = try splitter(of: known.input.path).skip(
        to: known.byteOffset, checksum: known.checksum, isCancelled: options.shouldStop)
      if case .done = skipped { return true }
      return false
    } catch ImportError.interrupted {
      throw ImportError.interrupted
    } catch {
      return true
    }
  }

  /// The checkpoint of an input that was imported completely and is unchanged; nil for all others. The
  /// input's bytes are read without parsing.
  func complete() throws -> Checkpoint? {
    guard file.canBeReadAgain else { return nil }
    guard let own = try memory.checkpoint(of: file.key) else {
      return goesByContents ? try completeContents() : nil
    }
    guard own.isComplete, case .complete(let checkpoint) = try compare(own, splitter()) else {
      return nil
    }
    return checkpoint
  }

  /// True when a part of the input was imported that the input no longer has.
  func hasChanged() throws -> Bool {
    guard file.canBeReadAgain, let own = try memory.checkpoint(of: file.key),
      case .changed = try compare(own, splitter())
    else { return false }
    return true
  }

  /// The checkpoint of a completely imported input with the same contents.
  private func completeContents() throws -> Checkpoint? {
    let splitter = try splitter()
    _ = try splitter.skip(to: .max, checksum: 0, isCancelled: options.shouldStop)
    return try memory.complete(
      checksum: splitter.checksum.value, byteOffset: splitter.byteOffset)
  }

  /// An input from its first byte.
  ///
  /// - Parameter path: nil: this one.
  private func splitter(of path: String? = nil) throws -> RecordSplitter {
    let source = try FileSource.open(path ?? file.path)
    source.isCancelled = options.shouldStop
    let decoded = try DecodingSource(detecting: source, given: options.encoding)
    return RecordSplitter(
      source: decoded.withoutFooter(lines: options.skipFooter), limits: options.limits,
      encoding: decoded.encoding, original: decoded.original)
  }

  private func compare(_ checkpoint: Checkpoint, _ splitter: RecordSplitter) throws -> Finding {
    let skipped = try splitter.skip(
      to: checkpoint.byteOffset, checksum: checkpoint.checksum, isCancelled: options.shouldStop)
    let before = checkpoint.isComplete ? "was completed" : "was begun"
    switch skipped {
    case .tooShort:
      return .changed(
        reason:
          "it has changed since its import \(before): it has \(splitter.byteOffset) bytes now, "
          + "and \(checkpoint.byteOffset) were imported", .none)
    case .different:
      return .changed(
        reason:
          "it has changed since its import \(before): its first \(checkpoint.byteOffset) bytes are "
          + "not those that were imported", .none)
    case .done(let endsLine):
      var going = checkpoint
      if checkpoint.isComplete {
        if try splitter.isAtEnd() { return .complete(checkpoint) }
        guard endsLine, !checkpoint.endsWithReject else {
          let next = try splitter.peek(1).first
          let isWithinLine = !endsLine && next != 0x0A && next != 0x0D
          return .changed(
            reason: "it has grown since its import was completed, and its last record then, at "
              + "byte \(checkpoint.byteOffset), may have been cut off",
            isWithinLine ? .withinLine : .withOtherLines)
        }
        // All added records are new.
        going.classes = []
      }
      splitter.goOn(line: checkpoint.line, record: checkpoint.records + 1)
      return .goesOn(going)
    }
  }
}
