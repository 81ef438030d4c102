import Base

/// An entry of an index: the object may have a key with this code.
package struct IndexEntry: Sendable, Equatable, Comparable, BitwiseCopyable {
  package var code: Int64
  /// The key of the object.
  package var object: Int64

  package init(code: Int64, object: Int64) {
    self.code = code
    self.object = object
  }

  package static func < (left: IndexEntry, right: IndexEntry) -> Bool {
    left.code == right.code ? left.object < right.object : left.code < right.code
  }
}

/// Entries of an index, packed, read in place.
///
///     0  1  kind, 'I'
///     1  1  bits of a code, 0 to 63
///     2  1  bits of an object, 0 to 63
///     3  1  1: a row's code is so many higher than stored as its number says; 2: its object too
///     4  4  number of rows, 1 to 2^20
///     8  8  the first code
///     16 8  the base of the objects
///     24    a packed integer for each row: its code minus the first
///           a packed integer for each row: its object minus the base
///     end   8 zeros, so that a row is read with loads of 8 bytes
///
/// Codes do not descend; objects of one code ascend. All rows of one code are in one leaf.
///
/// Unsafe for speed: it keeps a pointer into the block, which must stay valid. Whatever its bytes are,
/// nothing outside of them is read.
package struct IndexLeaf {
  package static let kind: UInt8 = 0x49
  static let padding = 8

  package let rowCount: Int
  package let firstCode: Int64
  private let base: Int64
  private let codes: PackedBits
  private let objects: PackedBits
  private let codeStep: Int
  private let objectStep: Int

  /// Reads a verified block.
  ///
  /// - Throws: `DecodingFailure`.
  package init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
    var reader = ByteReader(bytes)
    guard try reader.read(UInt8.self, "kind") == Self.kind else {
      throw DecodingFailure(what: "it is not a leaf of an index", offset: 0)
    }
    let codeBits = Int(try reader.read(UInt8.self, "bits of a code"))
    let objectBits = Int(try reader.read(UInt8.self, "bits of an object"))
    let steps = try reader.read(UInt8.self, "steps")
    guard steps <= 3 else { throw DecodingFailure(what: "unknown steps", offset: 3) }
    codeStep = Int(steps & 1)
    objectStep = Int(steps >> 1)
    rowCount = Int(try reader.read(UInt32.self, "number of rows"))
    guard rowCount > 0, rowCount <= ClusterFormat.maximumRows else {
      throw DecodingFailure(what: "the number of rows", offset: 4)
    }
    firstCode = try reader.read(Int64.self, "the first code")
    base = try reader.read(Int64.self, "the base of the objects")
    codes = try PackedBits(
      &reader, count: rowCount, width: codeBits, maximumWidth: 63, "the codes")
    objects = try PackedBits(
      &reader, count: rowCount, width: objectBits, maximumWidth: 63, "the objects")
    guard reader.remaining == Self.padding else {
      throw DecodingFailure(what: "its length", offset: reader.offset)
    }
  }

  /// A row's code minus the first one; from damaged bytes it may be any number.
  @inline(__always)
  private func offset(_ row: Int) -> Int64 {
    Int64(truncatingIfNeeded: codes[row]) &+ Int64(row &* codeStep)
  }

  /// - Precondition: the row exists.
  package subscript(row: Int) -> IndexEntry {
    IndexEntry(
      code: firstCode &+ offset(row),
      object: base &+ Int64(truncatingIfNeeded: objects[row]) &+ Int64(row &* objectStep))
  }

  /// The first row whose code is not below `code`; `rowCount` when all are.
  ///
  /// Hashes are evenly distributed, so a guess by interpolation misses by a few rows only.
  ///
  /// - Parameter start: rows before it are known to have lower codes.
  package func firstRow(notBelow code: Int64, from start: Int = 0) -> Int {
    let wanted = code &- firstCode
    var low = start
    var high = rowCount
    guard low < high, wanted > 0 else { return low }
    let last = offset(rowCount &- 1)
    if wanted > last { return rowCount }
    if last > 0 {
      // At most the number of rows, because `wanted` is at most `last`.
      var guess = Int(Double(wanted) / Double(last) * Double(rowCount &- 1))
      guess = min(max(guess, low), high &- 1)
      var step = 8
      if offset(guess) < wanted {
        low = guess &+ 1
        while guess &+ step < high, offset(guess &+ step) < wanted {
          low = guess &+ step &+ 1
          step &*= 2
        }
        high = min(high, guess &+ step)
      } else {
        high = guess
        while guess &- step >= low, offset(guess &- step) >= wanted {
          high = guess &- step
          step &*= 2
        }
        low = max(low, guess &- step &+ 1)
      }
    }
    return partitionPoint(low..<max(low, high)) { offset($0) >= wanted }
  }

  /// All rows.
  func entries() -> [IndexEntry] {
    [IndexEntry](unsafeUninitializedCapacity: rowCount) { room, count in
      for row in 0..<rowCount { room.initializeElement(at: row, to: self[row]) }
      count = rowCount
    }
  }

  /// The first contradiction in the rows; nil when they ascend and a writer may have written them.
  package func inconsistency() -> String? { inconsistency(of: entries()) }

  /// The first contradiction in the given entries of the rows.
  func inconsistency(of entries: [IndexEntry]) -> String? {
    if entries[0].code != firstCode { return "the first code is not that of its first row" }
    var last = IndexEntry(code: firstCode, object: .min)
    for (row, entry) in entries.enumerated() {
      if entry <= last { return "its rows are out of order at row \(row)" }
      if entry.object < 0 { return "the object of row \(row) is negative" }
      last = entry
    }
    guard firstCode >= KeyCode.firstHash, last.code < -KeyCode.firstHash else {
      return "its codes are out of range"
    }
    return nil
  }

  // MARK: Writing

  /// Encodes ascending entries.
  ///
  /// - Precondition: there are 1 to 2^20 entries.
  static func encode(_ entries: UnsafeBufferPointer<IndexEntry>, into output: inout OutputBuffer) {
    let first = entries[0].code
    let count = entries.count
    let isStrict = (1..<max(count, 1)).allSatisfy { entries[$0 - 1].code < entries[$0].code }
    let codeStep = isStrict ? 1 : 0
    func codeOffset(_ row: Int) -> UInt64 {
      UInt64(bitPattern: entries[row].code &- first &- Int64(row &* codeStep))
    }
    var (low, high, steppedLow, steppedHigh) = (Int64.max, Int64.min, Int64.max, Int64.min)
    for row in 0..<count {
      let object = entries[row].object
      low = min(low, object)
      high = max(high, object)
      steppedLow = min(steppedLow, object &- Int64(row))
      steppedHigh = max(steppedHigh, object &- Int64(row))
    }
    let objectStep = steppedHigh &- steppedLow < high &- low ? 1 : 0
    let base = objectStep == 1 ? steppedLow : low
    let codeBits = BitPacking.width(codeOffset(count - 1))
    let objectBits = BitPacking.width(
      UInt64(bitPattern: objectStep == 1 ? steppedHigh &- steppedLow : high &- low))
    output.removeAll()
    output.append(kind)
    output.append(UInt8(truncatingIfNeeded: codeBits))
    output.append(UInt8(truncatingIfNeeded: objectBits))
    output.append(UInt8(truncatingIfNeeded: codeStep | objectStep << 1))
    output.append(UInt32(truncatingIfNeeded: count))
    output.append(first)
    output.append(base)
    BitPacking.pack(count: count, width: codeBits, into: &output) { codeOffset($0) }
    BitPacking.pack(count: count, width: objectBits, into: &output) { row in
      UInt64(bitPattern: entries[row].object &- base &- Int64(row &* objectStep))
    }
    output.appendZeros(padding)
  }
}
