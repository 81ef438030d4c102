import Base

/// A history in the file: a block of its own, referred to by the catalogue of the newest version, so that a
/// commit that keeps nothing new does not rewrite it, and parts of this block.
///
/// A kept version has the history of its time among its blocks. With one block for all kept versions, these
/// blocks would take the square of their number; so all but the newest kept versions lie in parts, which
/// histories share until one of their versions is let go, or its tags change.
///
///     0  1  kind, 'H'
///     1  1  form: the sum of 1 with pending tables, and 2 with parts
///     2  2  zero
///     4  4  how many versions are kept by themselves, before each import; 0: none are
///           with parts: their number 4, 1 or more · references to them (`BlockReference`)
///     ·  4  number of kept versions in this block
///     ·     kept versions, ascending (`KeptRoot`), newer than those of the parts
///           with pending tables: their number 4, 1 or more · pending tables (`PendingRoot`)
///
/// A part:
///
///     0  1  kind, 'H'
///     1  1  form: 4
///     2  2  zero
///     4  4  number of kept versions, 1 or more
///     8     kept versions, ascending, newer than those of the parts before it
package struct StoredHistory: Sendable {
  /// A part: its block and content.
  private struct Part: Sendable {
    var reference: BlockReference
    let kept: [KeptRoot]
  }

  private static let kind: UInt8 = 0x48
  private static let formOfPart: UInt8 = 4
  /// The usual number of kept versions in a part.
  package static let mostInPart = 32

  package private(set) var history = History()
  private var parts: [Part] = []
  var hasParts: Bool { !parts.isEmpty }

  /// A history that is not stored yet.
  init() {}
}

// MARK: Reading

extension StoredHistory {
  /// - Parameter record: the version with this history.
  /// - Throws: `BlockError` or `DecodingFailure` when a block is damaged.
  init(_ reference: BlockReference, of record: VersionRecord, _ blocks: BlockReader) throws {
    var kept = KeptRoots(before: record.version)
    // A closure would hold the history's block while parts are read.
    let bytes = try blocks.withCopy(of: reference, end: record.end) { Array($0) }
    self = try bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let head = try Head(&reader)
      var stored = StoredHistory()
      for reference in head.parts {
        stored.parts.append(
          Part(reference: reference, kept: try kept.part(reference, end: record.end, blocks)))
      }
      try kept.read(&reader)
      stored.history.limit = head.limit
      stored.history.kept = kept.all
      if head.hasPending {
        stored.history.pending = try Self.readPending(&reader, of: record.version)
      }
      guard reader.remaining == 0 else {
        throw DecodingFailure(what: "bytes are left over", offset: reader.offset)
      }
      return stored
    }
  }

  /// The blocks of the parts of a history, from its own block.
  static func parts(of bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> [BlockReference] {
    var reader = ByteReader(bytes)
    return try Head(&reader).parts
  }

  /// The beginning of a history's own block, up to the number of kept versions.
  private struct Head {
    let limit: UInt32
    let hasPending: Bool
    var parts: [BlockReference] = []

    init(_ reader: inout ByteReader) throws(DecodingFailure) {
      let form = try StoredHistory.readForm(&reader)
      guard form <= 3 else { throw DecodingFailure(what: "it is not a history", offset: 0) }
      hasPending = form & 1 != 0
      limit = try reader.read(UInt32.self, "number of versions to be kept")
      guard limit <= History.mostKept else {
        throw DecodingFailure(what: "\(limit) versions are to be kept", offset: 4)
      }
      if form & 2 == 0 { return }
      let count = try reader.read(UInt32.self, "number of parts")
      guard count > 0 else { throw DecodingFailure(what: "it has no parts", offset: 8) }
      for _ in 0..<count { parts.append(try BlockReference(from: &reader)) }
    }
  }

  private static func readForm(_ reader: inout ByteReader) throws(DecodingFailure) -> UInt8 {
    let kind = try reader.read(UInt8.self, "kind")
    let form = try reader.read(UInt8.self, "form of the history")
    guard kind == Self.kind, try reader.readBytes(2, "history").allSatisfy({ $0 == 0 }) else {
      throw DecodingFailure(what: "it is not a history", offset: 0)
    }
    return form
  }

  /// Kept versions from one block after the other.
  private struct KeptRoots {
    private(set) var all: [KeptRoot] = []
    private let newest: UInt64
    private var tags: Set<String> = []

    init(before newest: UInt64) { self.newest = newest }

    mutating func read(_ reader: inout ByteReader) throws(DecodingFailure) {
      let count = try reader.read(UInt32.self, "number of kept versions")
      for _ in 0..<count {
        let at = reader.offset
        let root = try KeptRoot(from: &reader)
        guard root.record.version > (all.last?.record.version ?? 0), root.record.version < newest
        else {
          throw DecodingFailure(
            what: "the kept version \(root.record.version) is out of order", offset: at)
        }
        for tag in root.tags where !tags.insert(tag).inserted {
          throw DecodingFailure(what: "the tag '\(tag)' stands twice", offset: at)
        }
        all.append(root)
      }
    }

    /// Reads a part, and returns its versions.
    mutating func part(
      _ reference: BlockReference, end: UInt64, _ blocks: BlockReader
    ) throws -> [KeptRoot] {
      let first = all.count
      do {
        try blocks.withCopy(of: reference, end: end) {
          var reader = ByteReader($0)
          guard try StoredHistory.readForm(&reader) == StoredHistory.formOfPart else {
            throw DecodingFailure(what: "it is not a part of a history", offset: 0)
          }
          try read(&reader)
          guard all.count > first, reader.remaining == 0 else {
            throw DecodingFailure(
              what: all.count > first ? "bytes are left over" : "it has no versions",
              offset: reader.offset)
          }
        }
      } catch let failure as DecodingFailure {
        throw BlockError(
          path: blocks.storage.path, offset: reference.offset, length: reference.length,
          what: "a part of the history: \(failure.what) at byte \(failure.offset)")
      }
      return Array(all[first...])
    }
  }

  private static func readPending(
    _ reader: inout ByteReader, of newest: UInt64
  ) throws(DecodingFailure) -> [PendingRoot] {
    let count = try reader.read(UInt32.self, "number of pending tables")
    guard (1...History.mostPending).contains(Int(count)) else {
      throw DecodingFailure(what: "\(count) tables are pending", offset: reader.offset)
    }
    var pending: [PendingRoot] = []
    for _ in 0..<count {
      let at = reader.offset
      let root = try PendingRoot(from: &reader, of: newest)
      guard !pending.contains(where: { $0.name == root.name || $0.table == root.table }) else {
        throw DecodingFailure(what: "the table '\(root.name)' is pending twice", offset: at)
      }
      pending.append(root)
    }
    return pending
  }
}

// MARK: Writing

extension StoredHistory {
  /// The blocks that a history was written to.
  struct Written {
    /// Its own block; nil when nothing has to be stored.
    var reference: BlockReference?
    /// Parts that it no longer has.
    var dropped: [BlockReference] = []
  }

  /// Writes a history, without the parts that are as they were. What is left of the others is joined with
  /// a part beside it that has room.
  ///
  /// - Parameters:
  ///   - most: the number of kept versions in a new part.
  ///   - put: writes a block; true for a part.
  /// - Complexity: O(kept versions).
  mutating func write(
    _ history: History, mostInPart most: Int = mostInPart,
    _ put: (_ block: [UInt8], _ isPart: Bool) throws -> BlockReference
  ) rethrows -> Written {
    var written = Written()
    let kept = history.kept
    var stored: [Part] = []
    var start = 0
    for part in parts {
      guard let oldest = part.kept.first?.record.version,
        let place = kept[start...].firstIndex(where: { $0.record.version >= oldest }),
        kept[place...].starts(with: part.kept)
      else {
        written.dropped.append(part.reference)
        continue
      }
      var loose = start..<place
      start = place + part.kept.count
      if loose.isEmpty {
        stored.append(part)
        continue
      }
      if let last = stored.last, last.kept.count + loose.count <= most {
        loose = loose.lowerBound - last.kept.count..<loose.upperBound
        written.dropped.append(last.reference)
        stored.removeLast()
      }
      if loose.count + part.kept.count <= most {
        written.dropped.append(part.reference)
        start = loose.lowerBound
      } else {
        stored += try Self.parts(of: kept[loose], most, put)
        stored.append(part)
      }
    }
    let own = kept[start...].suffix((kept.count - start) % most)
    stored += try Self.parts(of: kept[start...].dropLast(own.count), most, put)
    parts = stored
    self.history = history
    if !history.isEmpty { written.reference = try put(encodeHead(own), false) }
    return written
  }

  private static func parts(
    of kept: ArraySlice<KeptRoot>, _ most: Int,
    _ put: ([UInt8], Bool) throws -> BlockReference
  ) rethrows -> [Part] {
    var parts: [Part] = []
    var left = kept
    while !left.isEmpty {
      let own = Array(left.prefix(most))
      var writer = ByteWriter(capacity: 8 + own.count * 96)
      writer.append([kind, formOfPart, 0, 0])
      append(own[...], to: &writer)
      parts.append(Part(reference: try put(writer.bytes, true), kept: own))
      left = left.dropFirst(own.count)
    }
    return parts
  }

  fileprivate func encodeHead(_ kept: ArraySlice<KeptRoot>) -> [UInt8] {
    var writer = ByteWriter(capacity: 16 + parts.count * 24 + kept.count * 96)
    let form: UInt8 = (history.pending.isEmpty ? 0 : 1) | (parts.isEmpty ? 0 : 2)
    writer.append([Self.kind, form, 0, 0])
    writer.append(history.limit)
    if !parts.isEmpty { writer.append(UInt32(parts.count)) }
    for part in parts { part.reference.encode(into: &writer) }
    Self.append(kept, to: &writer)
    if !history.pending.isEmpty { writer.append(UInt32(history.pending.count)) }
    for root in history.pending { root.encode(into: &writer) }
    return writer.bytes
  }

  private static func append(_ kept: ArraySlice<KeptRoot>, to writer: inout ByteWriter) {
    writer.append(UInt32(kept.count))
    for root in kept { root.encode(into: &writer) }
  }

  /// Moves parts to other places in the file. The history's own block has to be written again then.
  ///
  /// - Parameter move: may move a block, and returns whether it did.
  /// - Returns: whether a part was moved.
  mutating func moveParts(_ move: (inout BlockReference) throws -> Bool) rethrows -> Bool {
    var isChanged = false
    for place in parts.indices where try move(&parts[place].reference) { isChanged = true }
    return isChanged
  }
}

extension History {
  /// True when it gets parts where it is written at once.
  var fillsPart: Bool { kept.count >= StoredHistory.mostInPart }

  /// Writes a history whose parts are in no file yet.
  ///
  /// - Returns: its own block; nil when nothing has to be stored.
  func write(_ put: ([UInt8]) throws -> BlockReference) rethrows -> BlockReference? {
    var stored = StoredHistory()
    return try stored.write(self) { block, _ in try put(block) }.reference
  }

  /// The block of a history without anything, for kept versions, whose own history is not used.
  static func empty(_ put: ([UInt8]) throws -> BlockReference) rethrows -> BlockReference {
    try put(StoredHistory().encodeHead([]))
  }
}
