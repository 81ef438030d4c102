import Engine

/// How far an import has come, stored with the table in the transaction of the batch that it
/// describes: after any crash the committed part of the input is exactly what it says.
struct Checkpoint: Sendable, Equatable {
  /// What makes an input the same one: its size, and a digest of its beginning.
  struct InputIdentity: Sendable, Equatable {
    var size: Int
    var digest: UInt64
  }

  /// Bytes of an input's beginning that its identity covers.
  static let prefixBytes = 1 << 16

  var input: InputIdentity
  /// A digest of the options that decide what a record becomes; another one cannot go on.
  var options: UInt64
  var byteOffset: Int
  var line: Int
  /// Records read so far.
  var records: Int
  var rejected: Int
  /// Of those, what became of the ones whose key an object had.
  var updated = 0
  var skipped = 0
  var unchanged = 0
  /// Lengths of the rejects file and of the reasons beside it.
  var rejectsLength: Int
  var reasonsLength: Int
  var isComplete: Bool
  /// What was seen of each column's values.
  var classes: [TypeSet]

  /// The name under which a table keeps its imports' checkpoints.
  static let note = "imports"
  /// The newest so many imports are remembered.
  static let remembered = 16
  private static let version: UInt8 = 2

  /// - version 1 · number 1 · checkpoints, the newest last: size 8 · digest 8 · options 8 ·
  ///   byte offset 8 · line 8 · records 8 · rejected 8 · rejects length 8 · reasons length 8 ·
  ///   updated 8 · skipped 8 · unchanged 8 (these three not in version 1) · complete 1 · number of columns 4 · a byte of classes for each
  static func encode(_ checkpoints: [Checkpoint]) -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    let kept = checkpoints.suffix(remembered)
    writer.append(version)
    writer.append(UInt8(kept.count))
    for checkpoint in kept {
      for number in [
        checkpoint.input.size, Int(bitPattern: UInt(checkpoint.input.digest)),
        Int(bitPattern: UInt(checkpoint.options)), checkpoint.byteOffset, checkpoint.line,
        checkpoint.records, checkpoint.rejected, checkpoint.rejectsLength,
        checkpoint.reasonsLength, checkpoint.updated, checkpoint.skipped, checkpoint.unchanged,
      ] { writer.append(Int64(number)) }
      writer.append(checkpoint.isComplete)
      writer.append(UInt32(checkpoint.classes.count))
      for classes in checkpoint.classes { writer.append(classes.rawValue) }
    }
    return writer.bytes
  }

  /// The checkpoint as it is kept: only an import that is still going on needs the classes.
  var asStored: Checkpoint {
    var copy = self
    if isComplete { copy.classes = [] }
    return copy
  }

  static func decode(_ bytes: [UInt8]) -> [Checkpoint]? {
    bytes.withUnsafeBytes { buffer in
      do {
        var reader = ByteReader(buffer)
        let found = try reader.read(UInt8.self, "version")
        guard found >= 1, found <= version else { return nil }
        return try (0..<(try reader.read(UInt8.self, "number"))).map { _ in
          try Checkpoint(&reader, numbers: found == 1 ? 9 : 12)
        }
      } catch {
        return nil
      }
    }
  }

  private init(_ reader: inout ByteReader, numbers count: Int) throws(DecodingFailure) {
    var numbers: [Int] = []
    for _ in 0..<count { numbers.append(Int(try reader.read(Int64.self, "checkpoint"))) }
    isComplete = try reader.readBool("complete")
    let columns = try reader.read(UInt32.self, "columns")
    classes = try reader.readBytes(Int(columns), "classes").map { TypeSet(rawValue: $0) }
    input = InputIdentity(size: numbers[0], digest: UInt64(UInt(bitPattern: numbers[1])))
    options = UInt64(UInt(bitPattern: numbers[2]))
    byteOffset = numbers[3]
    line = numbers[4]
    records = numbers[5]
    rejected = numbers[6]
    rejectsLength = numbers[7]
    reasonsLength = numbers[8]
    if count > 9 { (updated, skipped, unchanged) = (numbers[9], numbers[10], numbers[11]) }
    guard numbers[3...].allSatisfy({ $0 >= 0 }) else {
      throw DecodingFailure(what: "a negative number", offset: reader.offset)
    }
  }

  init(
    input: InputIdentity, options: UInt64, byteOffset: Int, line: Int, classes: [TypeSet]
  ) {
    self.input = input
    self.options = options
    self.byteOffset = byteOffset
    self.line = line
    self.classes = classes
    records = 0
    rejected = 0
    rejectsLength = 0
    reasonsLength = 0
    isComplete = false
  }
}
