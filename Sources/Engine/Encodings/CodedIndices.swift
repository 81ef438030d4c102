import Base

/// Indices of a column in which some values are more frequent than others: the entries are ordered by falling
/// frequency, and an index is a prefix code, shorter for more frequent entries.
///
///     u32  nullRank      if the column has nulls: null's place among the entries, by its frequency
///     code               `CanonicalCode`, of the entries and null
///     rows               `BitRows`, a code for each row
struct CodedIndices {
  private let entryCount: Int
  /// Larger than every rank when the column has no nulls.
  private let nullRank: Int
  private let code: CanonicalCode
  private let rows: BitRows

  init(
    _ reader: inout ByteReader, rowCount: Int, entryCount: Int, hasNulls: Bool
  ) throws(DecodingFailure) {
    self.entryCount = entryCount
    if hasNulls {
      nullRank = Int(try reader.read(UInt32.self, "the rank of null"))
      guard nullRank <= entryCount else {
        throw DecodingFailure(what: "the rank of null", offset: reader.offset)
      }
    } else {
      nullRank = .max
    }
    code = try CanonicalCode(&reader, symbolCount: entryCount + (hasNulls ? 1 : 0))
    rows = try BitRows(&reader, rowCount: rowCount)
  }

  /// The entry of a rank; the number of entries for null, and for bits that are not a code.
  @inline(__always)
  private func entry(_ rank: Int) -> Int {
    rank == nullRank || rank < 0 ? entryCount : rank > nullRank ? rank &- 1 : rank
  }

  func index(_ row: Int) -> Int {
    let limits = code.limits()
    var cursor = rows.cursor(blockOf: row)
    var remaining = row & BitRows.blockMask
    while remaining > 0 {
      cursor.skip(limits.decode(cursor.window).length)
      remaining &-= 1
    }
    return entry(limits.decode(cursor.window).symbol)
  }

  func decode(
    _ range: Range<Int>, limit: Int, table: inout CodeTable,
    into target: UnsafeMutablePointer<UInt32>
  ) {
    guard let first = range.first else { return }
    let limits = code.limits()
    table.load(limits)
    @inline(__always) func next(_ cursor: inout BitCursor, _ row: Int) {
      let (symbol, length) = table.decode(cursor.window, limits)
      cursor.skip(length)
      target[row &- first] = UInt32(truncatingIfNeeded: min(entry(symbol), limit))
    }
    var row = first
    var cursor = rows.cursor(blockOf: row)
    for _ in 0..<row & BitRows.blockMask {
      cursor.skip(limits.decode(cursor.window).length)
    }
    // The beginning of a code is known only after the code before it. So several blocks, whose beginnings are
    // known, are decoded at a time; they must begin where the blocks before them end.
    let block = BitRows.blockMask &+ 1
    while row & BitRows.blockMask == 0, row &+ 4 &* block <= range.upperBound {
      let starts = (
        rows.cursor(blockOf: row &+ block), rows.cursor(blockOf: row &+ 2 &* block),
        rows.cursor(blockOf: row &+ 3 &* block)
      )
      var a = cursor
      var (b, c, d) = starts
      for step in row..<row &+ block {
        next(&a, step)
        next(&b, step &+ block)
        next(&c, step &+ 2 &* block)
        next(&d, step &+ 3 &* block)
      }
      guard a == starts.0, b == starts.1, c == starts.2 else { break }
      cursor = d
      row &+= 4 &* block
    }
    while row < range.upperBound {
      next(&cursor, row)
      row &+= 1
    }
  }
}

/// The order of a dictionary's entries by frequency, and the code for it.
struct CodedPlan {
  let code: CodePlan
  /// Null's rank; nil when the column has no nulls.
  let nullRank: Int?
  let size: Int
  /// The entry of each rank, without null.
  let order: UnsafePointer<UInt32>
  /// For each entry and then null: `code << 8 | length`.
  private let codes: UnsafePointer<UInt32>

  /// Memory that is reused for the next column; a plan points into it.
  struct Room: ~Copyable {
    fileprivate var keys = Scratch<UInt64>()
    fileprivate var counts = Scratch<Int>()
    fileprivate var order = Scratch<UInt32>()
    fileprivate var ranked = Scratch<UInt32>()
    fileprivate var codes = Scratch<UInt32>()
  }

  /// - Complexity: O(rows + entries * log(entries)).
  init(
    _ dictionary: DictionaryBuilder.Result, rowCount: Int, nullCount: Int, room: inout Room
  ) {
    let entries = dictionary.strings.count
    let symbols = entries + (nullCount > 0 ? 1 : 0)
    let counts = room.counts.reserve(symbols)
    counts.update(repeating: 0, count: symbols)
    for row in 0..<rowCount { counts[min(Int(dictionary.indices[row]), entries)] &+= 1 }
    // Sorted by falling count, then by first row.
    var keys = UnsafeMutableBufferPointer(start: room.keys.reserve(symbols), count: symbols)
    for index in 0..<symbols {
      keys[index] =
        ~UInt64(truncatingIfNeeded: counts[index]) &<< 32
        | UInt64(truncatingIfNeeded: index)
    }
    keys.sort()
    let order = room.order.reserve(symbols)
    var nullRank: Int?
    var written = 0
    for rank in 0..<symbols {
      let index = Int(truncatingIfNeeded: keys[rank] & 0xFFFF_FFFF)
      counts[rank] = Int(truncatingIfNeeded: ~keys[rank] &>> 32)
      if index == entries {
        nullRank = rank
      } else {
        order[written] = UInt32(truncatingIfNeeded: index)
        written += 1
      }
    }
    code = CodePlan(UnsafeMutableBufferPointer(start: counts, count: symbols))
    let ranked = room.ranked.reserve(symbols)
    code.fill(ranked)
    let codes = room.codes.reserve(symbols)
    for rank in 0..<symbols {
      codes[Int(truncatingIfNeeded: keys[rank] & 0xFFFF_FFFF)] = ranked[rank]
    }
    self.codes = UnsafePointer(codes)
    self.order = UnsafePointer(order)
    self.nullRank = nullRank
    size =
      code.size &+ (nullRank == nil ? 0 : 4) &+ BitRows.size(rowCount: rowCount, bits: code.bits)
  }

  func write(
    _ dictionary: DictionaryBuilder.Result, rowCount: Int, into output: inout OutputBuffer
  ) {
    if let nullRank { output.append(UInt32(truncatingIfNeeded: nullRank)) }
    code.write(into: &output)
    let null = dictionary.strings.count
    BitRows.write(rowCount: rowCount, bits: code.bits, into: &output) { row in
      Int(codes[min(Int(dictionary.indices[row]), null)] & 0xFF)
    } append: { row, writer in
      let code = codes[min(Int(dictionary.indices[row]), null)]
      writer.append(UInt64(code &>> 8), count: Int(code & 0xFF))
    }
  }
}
