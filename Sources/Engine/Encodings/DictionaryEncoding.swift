import Base

/// Encoding 4: each distinct spelling once, and an index per row.
///
///     u32  entryCount     at most rowCount
///     u8   form           see `DictionaryIndices`
///     entries             `StoredStrings`, entryCount; compressed with the flag `symbols`
///     indices             `DictionaryIndices`
///
/// Entries are in the order of their first rows, or of falling frequency when indices are coded. With the
/// flag `nullIndex`, index entryCount is null.
struct DictionaryEncoding {
  static let headerSize = 5

  let entries: StoredStrings
  let hasNulls: Bool
  let indices: DictionaryIndices

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    let count = Int(try reader.read(UInt32.self, "the number of entries"))
    let form = DictionaryIndices.Coding(
      rawValue: try reader.read(UInt8.self, "the form of indices"))
    guard count <= rowCount, let form else {
      throw DecodingFailure(what: "the number of entries", offset: reader.offset)
    }
    hasNulls = flags.contains(.nullIndex)
    entries = try StoredStrings(
      &reader, count: count, areCompressed: flags.contains(.symbols))
    indices = try DictionaryIndices(
      &reader, form: form, rowCount: rowCount, entryCount: count, hasNulls: hasNulls)
  }

  /// The entry of a row; `entries.count` for null. Larger ones, from damaged bytes, count as null too.
  @inline(__always)
  func index(_ row: Int) -> Int { min(indices.index(row), entries.count) }

  /// Puts the entries of the rows into `target`, like `index`.
  func decode(
    _ rows: Range<Int>, table: inout CodeTable, into target: UnsafeMutablePointer<UInt32>
  ) {
    indices.decode(rows, limit: entries.count, table: &table, into: target)
  }

  /// The first contradiction in the bytes; nil when everything is consistent.
  func inconsistency(rowCount: Int) -> String? {
    if let problem = entries.inconsistency() { return problem }
    if let problem = indices.inconsistency() { return problem }
    let limit = entries.count + (hasNulls ? 1 : 0)
    var room = Scratch<UInt32>(capacity: rowCount)
    var table = CodeTable()
    let found = room.reserve(rowCount)
    indices.decode(0..<rowCount, limit: Int(UInt32.max), table: &table, into: found)
    for row in 0..<rowCount where Int(found[row]) >= limit {
      return "row \(row) names an entry that the dictionary does not have"
    }
    return nil
  }

  /// True when finding a row means reading those before it in its block.
  var isCoded: Bool {
    if case .coded = indices { return true }
    return false
  }

  static func width(entries: Int, hasNulls: Bool) -> Int {
    BitPacking.width(entries &- (hasNulls ? 0 : 1))
  }
}

/// How a dictionary will be stored: the form of its indices, chosen by size.
struct DictionaryPlan {
  private enum CodingPlan {
    case packed
    case fresh
    case coded(CodedPlan)
    case runs(Int)
  }

  let dictionary: DictionaryBuilder.Result
  /// Header and indices, without the entries.
  private(set) var indexSize: Int
  private var form = CodingPlan.packed
  private let width: Int
  private let rowCount: Int
  private let hasNulls: Bool

  /// - Complexity: O(rows), and for a thorough plan O(entries * log(entries)).
  init(
    _ column: GatheredColumn, _ dictionary: DictionaryBuilder.Result, effort: EncodingEffort,
    room: inout CodedPlan.Room
  ) {
    self.dictionary = dictionary
    let entries = dictionary.strings.count
    rowCount = column.rowCount
    hasNulls = column.nullCount > 0
    let width = DictionaryEncoding.width(entries: entries, hasNulls: hasNulls)
    self.width = width
    let header = DictionaryEncoding.headerSize
    indexSize = header &+ 1 &+ BitPacking.byteCount(rowCount, width: width)
    func take(_ form: CodingPlan, _ size: Int) {
      if header &+ size < indexSize {
        self.form = form
        indexSize = header &+ size
      }
    }
    take(.fresh, FreshIndices.size(rowCount: rowCount, entryCount: entries, width: width))
    let runs = RunIndices.count(dictionary, rowCount: rowCount)
    if runs > 0 { take(.runs(runs), RunIndices.size(rowCount: rowCount, runs: runs, width: width)) }
    // With more entries than this, codes are hardly shorter than packed indices.
    if effort == .thorough, entries <= rowCount / 2 {
      let plan = CodedPlan(
        dictionary, rowCount: rowCount, nullCount: column.nullCount, room: &room)
      take(.coded(plan), plan.size)
    }
  }

  /// The size with uncompressed entries.
  var size: Int { indexSize &+ dictionary.strings.size }

  /// The span of the entry with the stored number `index`.
  @inline(__always)
  func span(_ index: Int) -> TextSpan {
    if case .coded(let plan) = form { return dictionary.entries[Int(plan.order[index])].span }
    return dictionary.entries[index].span
  }

  /// Writes the segment.
  ///
  /// - Parameter writeCompressed: writes the entries compressed; false, without any output, when they should
  ///   be written uncompressed.
  func write(
    _ column: GatheredColumn, into output: inout OutputBuffer,
    writeCompressed: (inout OutputBuffer) -> Bool
  ) -> SegmentFlags {
    output.append(UInt32(truncatingIfNeeded: dictionary.strings.count))
    output.append(formNumber.rawValue)
    let areCompressed = writeCompressed(&output)
    if !areCompressed {
      dictionary.strings.write(column, into: &output) { span($0) }
    }
    switch form {
    case .packed:
      output.append(UInt8(truncatingIfNeeded: width))
      BitPacking.pack(count: rowCount, width: width, into: &output) { row in
        // Null, `UInt32.max` in `dictionary`, is stored as the number of entries.
        UInt64(truncatingIfNeeded: min(Int(dictionary.indices[row]), dictionary.strings.count))
      }
    case .fresh:
      FreshIndices.write(dictionary, rowCount: rowCount, width: width, into: &output)
    case .coded(let plan): plan.write(dictionary, rowCount: rowCount, into: &output)
    case .runs(let runs):
      RunIndices.write(dictionary, rowCount: rowCount, runs: runs, width: width, into: &output)
    }
    var flags: SegmentFlags = hasNulls ? .nullIndex : []
    if areCompressed { flags.insert(.symbols) }
    return flags
  }

  private var formNumber: DictionaryIndices.Coding {
    switch form {
    case .packed: .packed
    case .fresh: .fresh
    case .coded: .coded
    case .runs: .runs
    }
  }
}
