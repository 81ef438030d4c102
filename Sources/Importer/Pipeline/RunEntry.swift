import Base
import Engine

/// A database's record of an import, in a table of the file that no restoration takes back.
///
/// Thread rule: a plain value, `Sendable`.
package struct RunEntry: Sendable, Equatable {
  package enum Status: String, Sendable {
    /// The import is running, or was killed, or ended with an error after its first batches.
    case unfinished
    /// The import was stopped on request: its batches until then are committed.
    case interrupted
    /// All inputs were read to their end.
    case complete
  }

  /// The numbers of records by result.
  package struct Counts: Sendable, Equatable {
    package var read = 0
    package var imported = 0
    package var updated = 0
    package var skipped = 0
    package var unchanged = 0
    package var rejected = 0
    package var filtered = 0

    private mutating func change(_ other: Counts, _ change: (inout Int, Int) -> Void) {
      change(&read, other.read)
      change(&imported, other.imported)
      change(&updated, other.updated)
      change(&skipped, other.skipped)
      change(&unchanged, other.unchanged)
      change(&rejected, other.rejected)
      change(&filtered, other.filtered)
    }

    /// The rest of the records were filtered: their number is not stored.
    mutating func findFiltered() {
      filtered = max(0, read)
      for count in [imported, updated, skipped, unchanged, rejected] {
        filtered = max(0, filtered - max(0, count))
      }
    }

    /// Sums are limited to the largest number.
    mutating func add(_ other: Counts) {
      change(other) { $0 = $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
    }

    /// Differences are limited to 0.
    mutating func subtract(_ other: Counts) { change(other) { $0 = max(0, $0 - max(0, $1)) } }
  }

  package struct Input: Sendable, Equatable {
    package var path: String
    /// The size of the file on the disk; nil for a pipe.
    package var size: Int?
    /// The number of bytes read, decompressed, and a checksum of them.
    package var bytes: Int
    package var checksum: UInt64
    package var isComplete: Bool
    /// What this import did with its records.
    package var counts: Counts
    /// What earlier imports did with records at its beginning, for an input that has grown. Stored only until
    /// the import has come to its end.
    var base = Counts()
  }

  /// Ascending from 1.
  package var number: Int64 = 0
  package var begun: DateTime
  /// When this record was committed.
  package var noted: DateTime
  package var table: String
  package var status = Status.unfinished
  /// The newest version when the import began.
  package var base: UInt64
  /// The version in which this entry was committed.
  package var version: UInt64 = 0
  package var batches = 0
  package var counts = Counts()
  /// Objects that were deleted because no input had their keys.
  package var deleted = 0
  /// The first of its inputs.
  package var inputs: [Input] = []
  package var inputCount = 0

  /// Takes back what the import has done until now.
  mutating func forgetWork() {
    (inputs, counts, batches, deleted) = ([], Counts(), 0, 0)
  }

  /// The maximum number of inputs listed.
  static let mostInputs = 100
}

// MARK: As an object

extension RunEntry {
  static let purpose = "runs"
  private static let numbers = [
    "base", "version", "batches", "read", "imported", "updated", "skipped", "unchanged",
    "rejected", "deleted", "inputCount",
  ]
  static let columns =
    [
      Column("begun", .dateTime, nullable: false), Column("noted", .dateTime, nullable: false),
      Column("table", .text, nullable: false), Column("status", .text, nullable: false),
    ] + numbers.map { Column($0, .int, nullable: false) } + [
      Column("inputs", .data, nullable: false)
    ]

  var values: [Value] {
    let numbers = [
      Int(clamping: base), Int(clamping: version), batches, counts.read, counts.imported,
      counts.updated, counts.skipped, counts.unchanged, counts.rejected, deleted,
      inputCount,
    ]
    return [.dateTime(begun), .dateTime(noted), .text(table), .text(status.rawValue)]
      + numbers.map { .int(Int64($0)) } + [.data(Self.encode(inputs, status))]
  }

  /// Nil for an entry of another version of Sheaf, or a damaged one.
  init?(_ row: Row) {
    guard case .dateTime(let begun) = row["begun"], case .dateTime(let noted) = row["noted"],
      case .text(let table) = row["table"], case .text(let status) = row["status"],
      let status = Status(rawValue: status), case .data(let inputs) = row["inputs"],
      let inputs = Self.decode(inputs)
    else { return nil }
    let numbers = Self.numbers.compactMap { name -> Int? in
      guard case .int(let number) = row[name], number >= 0 else { return nil }
      return Int(number)
    }
    guard numbers.count == Self.numbers.count else { return nil }
    self.init(begun: begun, noted: noted, table: table, base: UInt64(numbers[0]))
    (number, self.status, version, batches) = (row.key, status, UInt64(numbers[1]), numbers[2])
    counts = Counts(
      read: numbers[3], imported: numbers[4], updated: numbers[5], skipped: numbers[6],
      unchanged: numbers[7], rejected: numbers[8])
    counts.findFiltered()
    (deleted, inputCount, self.inputs) = (numbers[9], numbers[10], inputs)
  }

  /// - version 1 · number 4 · inputs: flags 1 (1: complete, 2: of a known size, 4: grown) · checksum 8 · size
  ///   8 · bytes 8 · read, imported, updated, skipped, unchanged, rejected, 8 each · the same of earlier
  ///   imports, if it has grown · path (length 4, UTF-8)
  private static func encode(_ inputs: [Input], _ status: Status) -> [UInt8] {
    var writer = ByteWriter(capacity: 5 + inputs.count * 128)
    writer.append(1 as UInt8)
    writer.append(UInt32(inputs.count))
    for input in inputs {
      let hasGrown = status != .complete && input.base != Counts()
      writer.append(
        UInt8((input.isComplete ? 1 : 0) | (input.size != nil ? 2 : 0) | (hasGrown ? 4 : 0)))
      writer.append(input.checksum)
      let numbers =
        [input.size ?? 0, input.bytes] + input.counts.stored + (hasGrown ? input.base.stored : [])
      for number in numbers { writer.append(UInt64(clamping: number)) }
      writer.append(input.path)
    }
    return writer.bytes
  }

  private static func decode(_ bytes: [UInt8]) -> [Input]? {
    bytes.withUnsafeBytes { buffer in
      do {
        var reader = ByteReader(buffer)
        guard try reader.read(UInt8.self, "version") == 1 else { return nil }
        // No memory is reserved for a stored number: each input must exist.
        var inputs: [Input] = []
        for _ in 0..<(try reader.read(UInt32.self, "number")) { inputs.append(try Input(&reader)) }
        return reader.remaining == 0 ? inputs : nil
      } catch {
        return nil
      }
    }
  }
}

extension RunEntry.Input {
  fileprivate init(_ reader: inout ByteReader) throws(DecodingFailure) {
    let flags = try reader.read(UInt8.self, "flags")
    checksum = try reader.read(UInt64.self, "checksum")
    let size = Int(clamping: try reader.read(UInt64.self, "size"))
    self.size = flags & 2 != 0 ? size : nil
    isComplete = flags & 1 != 0
    bytes = Int(clamping: try reader.read(UInt64.self, "bytes"))
    counts = try RunEntry.Counts(&reader)
    if flags & 4 != 0 { base = try RunEntry.Counts(&reader) }
    path = try reader.readText("path")
  }
}

extension RunEntry.Counts {
  /// The numbers that are stored; the others follow from them.
  fileprivate var stored: [Int] { [read, imported, updated, skipped, unchanged, rejected] }

  fileprivate init(_ reader: inout ByteReader) throws(DecodingFailure) {
    read = Int(clamping: try reader.read(UInt64.self, "count"))
    imported = Int(clamping: try reader.read(UInt64.self, "count"))
    updated = Int(clamping: try reader.read(UInt64.self, "count"))
    skipped = Int(clamping: try reader.read(UInt64.self, "count"))
    unchanged = Int(clamping: try reader.read(UInt64.self, "count"))
    rejected = Int(clamping: try reader.read(UInt64.self, "count"))
    findFiltered()
  }
}
