import Engine

/// The records of one chunk, parsed, typed and encoded: a plain value that a parser thread passes to the
/// writer.
struct ColumnBatch: Sendable {
  enum Rows: Sendable {
    case none
    /// The number of rows that were only examined.
    case seen(Int)
    case encoded(EncodedCluster)
    case spelled(SpelledRows)
    case keyed(KeyedRows)
  }

  /// Where the writer may end a transaction, inside or at the end of the chunk.
  struct Boundary: Sendable, Equatable {
    /// The number of the chunk's records before it, including malformed ones.
    let records: Int
    let byteOffset: Int
    let line: Int
    /// The checksum of the input's bytes before it.
    let checksum: UInt64
  }

  /// Facts about a column's values.
  struct ColumnSummary: Sendable {
    let nulls: Int
    /// For each class that occurs, its first occurrence.
    var sightings: [Sighting]
    /// For each candidate that does not fit, the first value that excludes it.
    var misfits: [Misfit] = []

    init(nulls: Int, sightings: [Sighting]) {
      self.nulls = nulls
      self.sightings = sightings
    }

    /// - Parameter place: the number of a row's record in the input, and its line.
    init(_ column: SpellingFacts, place: (_ row: Int) -> (record: Int, line: Int)) {
      nulls = column.nullCount
      sightings = (0..<8).compactMap { bit in
        let type = TypeSet(rawValue: 1 << UInt8(bit))
        guard column.observation.classes.contains(type),
          let row = column.observation.firstRow(of: type)
        else { return nil }
        let (record, line) = place(row)
        return Sighting(type: type, record: record, line: line)
      }
    }
  }

  /// A value that a candidate of its column cannot read.
  struct Misfit: Sendable, Equatable {
    /// The index among the column's candidates.
    let candidate: Int
    let record: Int
    let line: Int

    /// - Parameter rows: for each candidate, the first row that it cannot read.
    static func all(_ rows: [Int?], _ place: (_ row: Int) -> (record: Int, line: Int)) -> [Misfit] {
      rows.enumerated().compactMap { candidate, row in
        row.map { row in
          let (record, line) = place(row)
          return Misfit(candidate: candidate, record: record, line: line)
        }
      }
    }
  }

  struct Sighting: Sendable, Equatable {
    let type: TypeSet
    let record: Int
    let line: Int
  }

  /// Number of the first record, from 1.
  let firstRecord: Int
  let recordCount: Int
  let rows: Rows
  let rowCount: Int
  /// One for each of the plan's columns, then one for each extra column.
  let columns: [ColumnSummary]
  let rejects: [Reject]
  /// The records that the filter left out, ascending, relative to the chunk's first record.
  let filtered: [Int]
  let tolerances: Tolerances
  /// Ascending; the last one is the chunk's end.
  let boundaries: [Boundary]
  let byteCount: Int
  /// True for the input's last chunk.
  let isLast: Bool
  /// The beginning of the input's last record, if that has no line end.
  let unfinished: SourcePosition?
}

/// Rows as spellings, for batches that are too small for clusters of their own.
struct SpelledRows: Sendable {
  /// The beginning of a record.
  struct RecordStart: Sendable {
    let line: Int
    let byteOffset: Int
  }

  let arena: [UInt8]
  /// Row by row, `columnCount` each.
  let spans: [TextSpan]
  let columnCount: Int
  /// The position of each row's record in its input; empty unless needed.
  let places: [RecordStart]
  /// The record of the chunk for each row.
  let records: [Int]
  /// The number of the chunk's first record, from 1.
  var firstRecord = 1
}
