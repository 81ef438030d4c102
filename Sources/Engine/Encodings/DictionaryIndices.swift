import Base

/// The entry of each row, in the form that takes the fewest bytes. The form is a byte in the dictionary's
/// header:
///
/// 0 packed: every row takes as many bits as the largest index.
///
///     u8   width        0 to 21
///     packed  index of each row     (rowCount values of width bits)
///
/// 1 first occurrences: see `FreshIndices`. 2 coded: see `CodedIndices`. 3 runs: see `RunIndices`.
enum DictionaryIndices {
  case packed(PackedBits)
  case fresh(FreshIndices)
  case coded(CodedIndices)
  case runs(RunIndices)

  /// The numbers are part of the file format.
  enum Coding: UInt8 {
    case packed = 0
    case fresh = 1
    case coded = 2
    case runs = 3
  }

  static let maximumWidth = 21

  init(
    _ reader: inout ByteReader, form: Coding, rowCount: Int, entryCount: Int, hasNulls: Bool
  ) throws(DecodingFailure) {
    switch form {
    case .packed: self = .packed(try Self.bits(&reader, count: rowCount))
    case .fresh:
      self = .fresh(try FreshIndices(&reader, rowCount: rowCount, entryCount: entryCount))
    case .coded:
      self = .coded(
        try CodedIndices(
          &reader, rowCount: rowCount, entryCount: entryCount, hasNulls: hasNulls))
    case .runs: self = .runs(try RunIndices(&reader, rowCount: rowCount))
    }
  }

  /// Reads a width, and this many packed indices.
  static func bits(_ reader: inout ByteReader, count: Int) throws(DecodingFailure) -> PackedBits {
    let width = Int(try reader.read(UInt8.self, "the width of indices"))
    return try PackedBits(
      &reader, count: count, width: width, maximumWidth: maximumWidth, "the indices")
  }

  /// The stored index of a row: from damaged bytes it may be any number that is not negative.
  ///
  /// - Precondition: 0 <= `row` < the number of rows.
  /// - Complexity: O(1); O(log runs) for runs; coded indices are decoded up to 128 rows at a time.
  @inline(__always)
  func index(_ row: Int) -> Int {
    switch self {
    case .packed(let bits): return Int(truncatingIfNeeded: bits[row])
    case .fresh(let fresh): return fresh.index(row)
    case .coded(let coded): return coded.index(row)
    case .runs(let runs): return runs.index(row)
    }
  }

  /// Puts the indices of the rows, at most `limit` each, into `target`; cheaper than one by one.
  func decode(
    _ rows: Range<Int>, limit: Int, table: inout CodeTable,
    into target: UnsafeMutablePointer<UInt32>
  ) {
    switch self {
    case .packed(let bits):
      for row in rows {
        target[row &- rows.lowerBound] = UInt32(
          truncatingIfNeeded: min(Int(truncatingIfNeeded: bits[row]), limit))
      }
    case .fresh(let fresh): fresh.decode(rows, limit: limit, into: target)
    case .coded(let coded): coded.decode(rows, limit: limit, table: &table, into: target)
    case .runs(let runs): runs.decode(rows, limit: limit, into: target)
    }
  }

  /// The first contradiction in the bytes, apart from indices that are too large; nil when everything is
  /// consistent.
  func inconsistency() -> String? {
    switch self {
    case .packed, .coded: return nil
    case .fresh(let fresh): return fresh.inconsistency()
    case .runs(let runs): return runs.inconsistency()
    }
  }
}
