import Base

/// Indices of a column whose values are mostly new: entries are in the order of their first rows, so a row
/// with the next entry needs only one bit.
///
///     bits    (rowCount + 7) / 8 bytes, bit set = the row is the first that has its entry
///     u8      rankWidth        0 to 21
///     packed  bits set before row 512, 1024, ...     ((rowCount - 1) / 512 values of rankWidth bits)
///     u8      width            0 to 21
///     packed  indices of the other rows              (rowCount - entryCount values of width bits)
struct FreshIndices {
  static let blockShift = 9

  private let bits: UnsafeRawPointer
  private let ranks: PackedBits
  private let others: PackedBits
  private let storedRowCount: UInt32
  private let storedOtherCount: UInt32

  private var rowCount: Int { Int(storedRowCount) }
  @inline(__always)
  private var otherCount: Int { Int(storedOtherCount) }

  init(
    _ reader: inout ByteReader, rowCount: Int, entryCount: Int
  ) throws(DecodingFailure) {
    storedRowCount = UInt32(truncatingIfNeeded: rowCount)
    guard let bits = try reader.readBytes((rowCount + 7) >> 3, "the first rows").baseAddress else {
      throw DecodingFailure(what: "the first rows", offset: reader.offset)
    }
    self.bits = bits
    let width = Int(try reader.read(UInt8.self, "the width of ranks"))
    ranks = try PackedBits(
      &reader, count: Self.rankCount(rowCount), width: width,
      maximumWidth: DictionaryIndices.maximumWidth, "the ranks")
    // The caller has checked that there are no more entries than rows.
    let otherCount = rowCount - entryCount
    storedOtherCount = UInt32(truncatingIfNeeded: otherCount)
    others = try DictionaryIndices.bits(&reader, count: otherCount)
  }

  static func rankCount(_ rowCount: Int) -> Int {
    rowCount == 0 ? 0 : (rowCount &- 1) &>> blockShift
  }

  @inline(__always)
  private func isFirst(_ row: Int) -> Bool {
    bits.load(fromByteOffset: row &>> 3, as: UInt8.self) &>> UInt8(row & 7) & 1 != 0
  }

  /// How many rows before this one are the first with their entry.
  private func rank(_ row: Int) -> Int {
    let block = row &>> Self.blockShift
    var rank = block == 0 ? 0 : Int(truncatingIfNeeded: ranks[block &- 1])
    var byte = block &<< (Self.blockShift &- 3)
    let last = row &>> 3
    while byte &+ 8 <= last {
      rank &+= bits.loadUnaligned(fromByteOffset: byte, as: UInt64.self).nonzeroBitCount
      byte &+= 8
    }
    // The load stays inside the cluster, which is padded; rows from this one on are masked out.
    let word = UInt64(littleEndian: bits.loadUnaligned(fromByteOffset: byte, as: UInt64.self))
    let mask = (1 as UInt64) &<< UInt64(truncatingIfNeeded: row &- byte &* 8) &- 1
    return rank &+ (word & mask).nonzeroBitCount
  }

  @inline(__always)
  private func other(_ position: Int) -> Int {
    otherCount == 0 ? 0 : Int(truncatingIfNeeded: others[min(max(position, 0), otherCount &- 1)])
  }

  func index(_ row: Int) -> Int {
    let rank = rank(row)
    return isFirst(row) ? rank : other(row &- rank)
  }

  func decode(_ rows: Range<Int>, limit: Int, into target: UnsafeMutablePointer<UInt32>) {
    guard let first = rows.first else { return }
    var rank = rank(first)
    for row in rows {
      // Both are read, as no processor foresees which one is right.
      let other = other(row &- rank)
      let isFirst = isFirst(row)
      let index = isFirst ? rank : other
      rank &+= isFirst ? 1 : 0
      target[row &- first] = UInt32(truncatingIfNeeded: min(index, limit))
    }
  }

  func inconsistency() -> String? {
    var rank = 0
    for row in 0..<rowCount {
      if row > 0, row & (1 << Self.blockShift - 1) == 0,
        Int(truncatingIfNeeded: ranks[row >> Self.blockShift - 1]) != rank
      {
        return "the rank of row \(row) disagrees with the bits before it"
      }
      if isFirst(row) {
        rank &+= 1
      } else if other(row &- rank) >= rank && other(row &- rank) < rowCount &- otherCount {
        return "row \(row) has an entry whose first row comes later"
      }
    }
    return rank == rowCount &- otherCount ? nil : "first rows and entries differ in number"
  }

  // MARK: Writing

  static func size(rowCount: Int, entryCount: Int, width: Int) -> Int {
    (rowCount &+ 7) &>> 3 &+ 2
      &+ BitPacking.byteCount(rankCount(rowCount), width: BitPacking.width(entryCount))
      &+ BitPacking.byteCount(rowCount &- entryCount, width: width)
  }

  /// Writes the indices of a dictionary whose entries are in the order of their first rows.
  static func write(
    _ dictionary: DictionaryBuilder.Result, rowCount: Int, width: Int,
    into output: inout OutputBuffer
  ) {
    let count = dictionary.strings.count
    var next = 0
    BitPacking.pack(count: rowCount, width: 1, into: &output) { row in
      guard Int(dictionary.indices[row]) == next else { return 0 }
      next &+= 1
      return 1
    }
    let rankWidth = BitPacking.width(count)
    output.append(UInt8(truncatingIfNeeded: rankWidth))
    next = 0
    var row = 0
    BitPacking.pack(count: rankCount(rowCount), width: rankWidth, into: &output) { block in
      let end = (block &+ 1) &<< blockShift
      while row < end {
        if Int(dictionary.indices[row]) == next { next &+= 1 }
        row &+= 1
      }
      return UInt64(truncatingIfNeeded: next)
    }
    output.append(UInt8(truncatingIfNeeded: width))
    next = 0
    row = 0
    BitPacking.pack(count: rowCount &- count, width: width, into: &output) { _ in
      while Int(dictionary.indices[row]) == next {
        next &+= 1
        row &+= 1
      }
      row &+= 1
      // Null, `UInt32.max` in `dictionary`, is stored as the number of entries.
      return UInt64(truncatingIfNeeded: min(Int(dictionary.indices[row &- 1]), count))
    }
  }
}
