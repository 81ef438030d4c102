import Base
import Engine

/// How far an import has come. It is stored with the table in the transaction of its batch, so after any
/// crash it describes exactly the committed part of the input.
struct Checkpoint: Sendable, Equatable {
  /// The identity of an input: its path, and the size of the file.
  struct Origin: Sendable, Equatable {
    /// A checksum of the file's path with all links resolved, or of `-`.
    var name: UInt64
    /// That path; empty in a checkpoint of an older version of Sheaf.
    var path = ""
    /// The size of the file on the disk; nil for a pipe.
    var size: Int?
  }

  var input: Origin
  /// A digest of the options that decide how a record is imported. An import with another digest cannot
  /// resume.
  var options: UInt64
  /// A digest of the options as they were given for a complete import; 0 in one of an older version of Sheaf.
  var given = 0
  /// The offset of the next record in the decompressed input.
  var byteOffset: Int
  /// The checksum of all bytes before that, by which an input is recognized.
  var checksum: UInt64
  var line: Int
  /// Records read so far.
  var records = 0
  var rejected = 0
  /// The numbers of records whose key an object had, by result.
  var updated = 0
  var skipped = 0
  var unchanged = 0
  /// Records that the filter left out.
  var filtered = 0
  /// The end of its rejects.
  var rejects = RejectPlace()
  var isComplete = false
  /// True when the last record was rejected for its quotes. It may have been truncated, and bytes that are
  /// later added to the input then continue it.
  var endsWithReject = false

  /// False when no record of the input has become or changed an object: reading it again doubles none.
  var hasObjects: Bool { records - rejected - filtered > 0 }
  /// The classes of each column's values so far.
  var classes: [TypeSet] = []

  init(
    input: Origin, options: UInt64, byteOffset: Int, checksum: UInt64, line: Int
  ) {
    self.input = input
    self.options = options
    self.byteOffset = byteOffset
    self.checksum = checksum
    self.line = line
  }

  /// The checkpoint in its stored form, in which only an unfinished import has classes, and only a complete
  /// one the digest of the given options.
  var asStored: Checkpoint {
    var copy = self
    if isComplete { copy.classes = [] } else { copy.given = 0 }
    return copy
  }
}

// MARK: Notes of the table

extension Checkpoint {
  /// The name of a table's note with the checkpoints of unfinished imports.
  static let note = "imports"
  /// The name of the note for complete imports, which batches need not write.
  static let completeNote = "imported"
  private static let version: UInt8 = 4
  /// The versions with the number of filtered records after the path, and with the digest of the given
  /// options after that; each is written only if something of it is not 0.
  private static let filteredVersion: UInt8 = 5
  private static let givenVersion: UInt8 = 6
  /// The version without paths and without checksums of rejects files.
  private static let earlierVersion: UInt8 = 3

  /// - version 1 · number 4 · checkpoints, the newest last: name 8 · checksum 8 · options 8 · flags
  ///   1 (1: complete, 2: ends with a reject) · then numbers of 7 bits a byte, the lowest first,
  ///   the highest bit set in all bytes but the last: size + 1 or 0 · byte offset · line · records
  ///   · rejected · updated · skipped · unchanged · number of the rejects file · its length ·
  ///   length of the reasons · number of columns · then the checksum of both files 8 · a byte of
  ///   classes for each column · the path's number of bytes, and they · from version 5 on: filtered ·
  ///   in version 6: the digest of the given options
  static func encode(_ checkpoints: [Checkpoint]) -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    let hasGiven = checkpoints.contains { $0.isComplete && $0.given != 0 }
    let hasFiltered = hasGiven || checkpoints.contains { $0.filtered > 0 }
    writer.append(hasGiven ? givenVersion : hasFiltered ? filteredVersion : version)
    writer.append(UInt32(checkpoints.count))
    for checkpoint in checkpoints {
      writer.append(checkpoint.input.name)
      writer.append(checkpoint.checksum)
      writer.append(checkpoint.options)
      writer.append(
        UInt8((checkpoint.isComplete ? 1 : 0) | (checkpoint.endsWithReject ? 2 : 0)))
      for number in [
        checkpoint.input.size.map { $0 + 1 } ?? 0, checkpoint.byteOffset, checkpoint.line,
        checkpoint.records, checkpoint.rejected, checkpoint.updated, checkpoint.skipped,
        checkpoint.unchanged, checkpoint.rejects.number, checkpoint.rejects.records,
        checkpoint.rejects.reasons, checkpoint.classes.count,
      ] { writer.append(number: number) }
      writer.append(checkpoint.rejects.checksum)
      for classes in checkpoint.classes { writer.append(classes.rawValue) }
      writer.append(number: checkpoint.input.path.utf8.count)
      writer.append(Array(checkpoint.input.path.utf8))
      if hasFiltered { writer.append(number: checkpoint.filtered) }
      if hasGiven { writer.append(number: checkpoint.isComplete ? checkpoint.given : 0) }
    }
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) -> [Checkpoint]? {
    bytes.withUnsafeBytes { buffer in
      do {
        var reader = ByteReader(buffer)
        let found = try reader.read(UInt8.self, "version")
        guard (earlierVersion...givenVersion).contains(found) else { return nil }
        // No memory is reserved for a stored number: each checkpoint must exist.
        var checkpoints: [Checkpoint] = []
        for _ in 0..<(try reader.read(UInt32.self, "number")) {
          checkpoints.append(try Checkpoint(&reader, version: found))
        }
        return reader.remaining == 0 ? checkpoints : nil
      } catch {
        return nil
      }
    }
  }

  private init(_ reader: inout ByteReader, version: UInt8) throws(DecodingFailure) {
    let isEarlier = version == Self.earlierVersion
    input = Origin(name: try reader.read(UInt64.self, "name"))
    checksum = try reader.read(UInt64.self, "checksum")
    options = try reader.read(UInt64.self, "options")
    let flags = try reader.read(UInt8.self, "flags")
    isComplete = flags & 1 != 0
    endsWithReject = flags & 2 != 0
    let size = try reader.readNumber()
    input.size = size == 0 ? nil : size - 1
    byteOffset = try reader.readNumber()
    line = try reader.readNumber()
    records = try reader.readNumber()
    rejected = try reader.readNumber()
    updated = try reader.readNumber()
    skipped = try reader.readNumber()
    unchanged = try reader.readNumber()
    if !isEarlier { rejects.number = try reader.readNumber() }
    rejects.records = try reader.readNumber()
    rejects.reasons = try reader.readNumber()
    let columns = try reader.readNumber()
    if isEarlier {
      // Files without a checksum are never continued.
      rejects.number = rejects.records > 0 ? 1 : 0
    } else {
      rejects.checksum = try reader.read(UInt64.self, "checksum of the rejects")
    }
    classes = try reader.readBytes(columns, "classes").map { TypeSet(rawValue: $0) }
    if !isEarlier {
      let length = try reader.readNumber()
      input.path = String(decoding: try reader.readBytes(length, "path"), as: UTF8.self)
    }
    if version >= Self.filteredVersion { filtered = try reader.readNumber() }
    if version >= Self.givenVersion { given = try reader.readNumber() }
    guard rejected + updated + skipped + unchanged + filtered <= records else {
      throw DecodingFailure(what: "counts that contradict each other", offset: reader.offset)
    }
  }
}

extension ByteWriter {
  fileprivate mutating func append(number: Int) {
    var rest = UInt64(max(0, number))
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}

extension ByteReader {
  /// More than the bytes of any input, and small enough that sums of a few numbers do not overflow.
  private static let largestNumber: UInt64 = 1 << 56

  fileprivate mutating func readNumber() throws(DecodingFailure) -> Int {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 63, by: 7) {
      let byte = try read(UInt8.self, "number")
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard number <= ByteReader.largestNumber else { break }
        return Int(number)
      }
    }
    throw DecodingFailure(what: "a number that is too large", offset: offset)
  }
}
