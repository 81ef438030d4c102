import Base

/// Reads a cluster's directory and opens its columns.
///
/// Unsafe for speed: this reader and its column readers keep a pointer into the given bytes, which must stay
/// valid and unchanged while they are used. Whatever these bytes contain, nothing outside them is read:
/// lengths and offsets are checked here and when a column is opened, indices when they are used.
///
/// Thread rule: confined, like the bytes it reads.
package struct ClusterReader {
  /// The directory's entry for a column.
  package struct DirectoryEntry {
    package let id: UInt32
    package let encoding: ColumnEncoding
    package let statistics: ColumnStatistics
    package let nullCount: Int
    /// The segment's size in bytes.
    package let byteCount: Int
    let position: Int
    let offset: Int
    let checksum: UInt64
    let flags: SegmentFlags
  }

  package let rowCount: Int
  package let columnCount: Int
  private let bytes: UnsafeRawBufferPointer
  package var byteCount: Int { bytes.count }
  private let verified: VerifiedParts?
  private let keyEncoding: UInt8
  private let keyWidth: Int
  private let keyOffset: Int
  private let keyLength: Int
  private let keyChecksum: UInt64

  /// Checks the header's own fields; columns are checked when they are opened.
  ///
  /// The caller has checked the header's checksum (`verifyHeader`).
  /// - Parameters:
  ///   - bytes: exactly the cluster.
  ///   - verified: which of its segments were hashed before; without it, every opening hashes. The keys are
  ///     part 1; columns follow in the directory's order.
  /// - Throws: `ClusterError.damagedHeader`.
  /// - Complexity: O(1).
  package init(
    _ bytes: UnsafeRawBufferPointer, verified: VerifiedParts? = nil
  ) throws(ClusterError) {
    self.bytes = bytes
    self.verified = verified
    var reader = ByteReader(bytes)
    do throws(DecodingFailure) {
      let headerLength = Int(try reader.read(UInt32.self, "its length"))
      rowCount = Int(try reader.read(UInt32.self, "the number of rows"))
      columnCount = Int(try reader.read(UInt32.self, "the number of columns"))
      keyEncoding = try reader.read(UInt8.self, "the encoding of keys")
      keyWidth = Int(try reader.read(UInt8.self, "the width of keys"))
      _ = try reader.read(UInt16.self, "its reserved bytes")
      keyOffset = Int(try reader.read(UInt32.self, "the place of the keys"))
      keyLength = Int(try reader.read(UInt32.self, "the length of the keys"))
      keyChecksum = try reader.read(UInt64.self, "the checksum of the keys")
      guard headerLength == ClusterFormat.headerLength(columns: columnCount),
        headerLength + ClusterFormat.padding <= bytes.count
      else { throw DecodingFailure(what: "its length", offset: 0) }
      guard rowCount <= ClusterFormat.maximumRows else {
        throw DecodingFailure(what: "the number of rows", offset: 4)
      }
      guard keyEncoding <= 1 else { throw DecodingFailure(what: "the key encoding", offset: 12) }
    } catch {
      throw .damagedHeader("\(error.what) at byte \(error.offset)")
    }
  }

  /// The bytes that a reference's checksum covers, header and directory; nil when the bytes cannot be a
  /// cluster.
  package static func header(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard bytes.count >= ClusterFormat.fixedHeaderLength else { return nil }
    let length = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
    guard length <= bytes.count else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[..<length])
  }

  /// True when the cluster's header and directory have the checksum in its reference. Call once, before the
  /// cluster is first read.
  package static func verifyHeader(_ bytes: UnsafeRawBufferPointer, checksum: UInt64) -> Bool {
    header(of: bytes).map { Checksum.of($0) } == checksum
  }

  // MARK: Columns

  /// The column at an index of the directory, which ascends by identifier.
  ///
  /// - Throws: `ClusterError.damagedColumn`; `damagedHeader` for an index outside the directory.
  package func column(at position: Int) throws(ClusterError) -> DirectoryEntry {
    guard position >= 0, position < columnCount else {
      throw .damagedHeader("there is no column \(position)")
    }
    var reader = ByteReader(bytes, offset: ClusterFormat.headerLength(columns: position))
    do {
      let id = try reader.read(UInt32.self, "identifier")
      let encodingNumber = try reader.read(UInt8.self, "encoding")
      let kindNumber = try reader.read(UInt8.self, "statistics")
      let flags = SegmentFlags(rawValue: try reader.read(UInt16.self, "flags"))
      let offset = Int(try reader.read(UInt32.self, "offset"))
      let length = Int(try reader.read(UInt32.self, "length"))
      let checksum = try reader.read(UInt64.self, "checksum")
      let nullCount = Int(try reader.read(UInt32.self, "null count"))
      let minimum = try reader.read(UInt64.self, "minimum")
      let maximum = try reader.read(UInt64.self, "maximum")
      guard let encoding = ColumnEncoding(rawValue: encodingNumber) else {
        throw ClusterError.damagedColumn(id: id, "encoding \(encodingNumber) is not known")
      }
      guard let kind = ColumnStatistics.Kind(rawValue: kindNumber) else {
        throw ClusterError.damagedColumn(id: id, "statistics \(kindNumber) are not known")
      }
      guard flags.isSubset(of: .known), nullCount <= rowCount else {
        throw ClusterError.damagedColumn(id: id, "its flags or its number of nulls")
      }
      let statistics = ColumnStatistics(kind: kind, minimum: minimum, maximum: maximum)
      return DirectoryEntry(
        id: id, encoding: encoding, statistics: statistics, nullCount: nullCount,
        byteCount: length, position: position, offset: offset, checksum: checksum, flags: flags)
    } catch let error as ClusterError {
      throw error
    } catch {
      throw .damagedHeader("the directory ends early")
    }
  }

  /// The directory's column with that identifier; nil when the cluster has none, so that all rows are null.
  ///
  /// - Complexity: O(log columns).
  package func column(id: UInt32) throws(ClusterError) -> DirectoryEntry? {
    let place = partitionPoint(0..<columnCount) { identifier($0) >= id }
    guard place < columnCount, identifier(place) == id else { return nil }
    return try column(at: place)
  }

  /// - Precondition: the index is inside the directory; `init` has checked that the directory is inside the
  ///   bytes.
  func identifier(_ position: Int) -> UInt32 {
    let offset = ClusterFormat.headerLength(columns: position)
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// Verifies a column's segment and opens it.
  ///
  /// - Throws: `ClusterError.damagedColumn`.
  /// - Complexity: O(segment) the first time, for its checksum, then O(1).
  package func open(_ column: DirectoryEntry) throws(ClusterError) -> ColumnReader {
    let segment = try segmentBytes(column)
    do {
      return try ColumnReader(segment, column, rowCount: rowCount)
    } catch {
      throw .damagedColumn(id: column.id, "\(error.what) at byte \(error.offset) of its segment")
    }
  }

  /// A column's segment, verified.
  func segmentBytes(_ column: DirectoryEntry) throws(ClusterError) -> UnsafeRawBufferPointer {
    guard let segment = segment(column.offset, column.byteCount) else {
      throw .damagedColumn(id: column.id, "its segment lies outside the cluster")
    }
    guard verify(segment, part: column.position + 2, checksum: column.checksum) else {
      throw .damagedColumn(id: column.id, ClusterError.wrongChecksum)
    }
    return segment
  }

  /// Opens the column with that identifier; when the cluster has none, a column that is all null.
  package func open(id: UInt32) throws(ClusterError) -> ColumnReader {
    guard let column = try column(id: id) else {
      return ColumnReader(allNull: id, rowCount: rowCount)
    }
    return try open(column)
  }

  /// A segment's bytes, if they and the padding lie behind the header and inside the cluster.
  private func segment(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer? {
    guard offset >= ClusterFormat.headerLength(columns: columnCount),
      offset + length + ClusterFormat.padding <= bytes.count
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
  }

  private func verify(
    _ segment: UnsafeRawBufferPointer, part: Int, checksum: UInt64
  ) -> Bool {
    if let verified, verified.contains(part) { return true }
    guard Checksum.of(segment) == checksum else { return false }
    verified?.insert(part)
    return true
  }

  /// Returns whether the last bytes are zero, as they were written. No checksum covers them, and no value
  /// depends on them.
  func hasZeroPadding() -> Bool { bytes.suffix(ClusterFormat.padding).allSatisfy { $0 == 0 } }

  /// The end of the last segment and the padding.
  func end() throws(ClusterError) -> Int {
    var end = max(ClusterFormat.headerLength(columns: columnCount), keyOffset + keyLength)
    if columnCount > 0 {
      let last = try column(at: columnCount - 1)
      end = max(end, last.offset + last.byteCount)
    }
    return end + ClusterFormat.padding
  }

  // MARK: Keys

  /// Opens the keys.
  ///
  /// - Throws: `ClusterError.damagedKeys`.
  package func keys() throws(ClusterError) -> ClusterKeys {
    if keyEncoding == 0 { return ClusterKeys(rowCount: rowCount, gaps: nil) }
    guard let segment = segment(keyOffset, keyLength) else {
      throw .damagedKeys("they lie outside the cluster")
    }
    guard verify(segment, part: 1, checksum: keyChecksum) else {
      throw .damagedKeys(ClusterError.wrongKeyChecksum)
    }
    var reader = ByteReader(segment)
    do {
      let gaps = try PackedBits(
        &reader, count: rowCount, width: keyWidth, maximumWidth: 64, "the keys")
      return ClusterKeys(rowCount: rowCount, gaps: gaps)
    } catch {
      throw .damagedKeys("they end early")
    }
  }
}

/// The keys of a cluster's rows, relative to the cluster's first key.
package struct ClusterKeys {
  package let rowCount: Int
  /// Key offset minus row number; nil when keys have no gaps.
  private let gaps: PackedBits?

  fileprivate init(rowCount: Int, gaps: PackedBits?) {
    self.rowCount = rowCount
    self.gaps = gaps
  }

  /// True when the key of row r is the first key + r.
  package var isDense: Bool { gaps == nil }

  /// The key of a row minus the cluster's first key. Damaged bytes may give any number.
  ///
  /// - Precondition: 0 <= `row` < `rowCount`.
  package func offset(_ row: Int) -> Int64 {
    guard let gaps else { return Int64(row) }
    precondition(row >= 0 && row < rowCount, "row \(row) of \(rowCount)")
    return Int64(row) &+ Int64(bitPattern: gaps[row])
  }

  /// The first row whose key offset is not below `offset`; `rowCount` when all are.
  ///
  /// - Complexity: O(log rows).
  package func firstRow(notBelow offset: Int64) -> Int {
    if gaps == nil { return Int(min(max(offset, 0), Int64(rowCount))) }
    return partitionPoint(0..<rowCount) { self.offset($0) >= offset }
  }

  /// The row with that key offset; nil when there is none.
  package func row(_ offset: Int64) -> Int? {
    let row = firstRow(notBelow: offset)
    return row < rowCount && self.offset(row) == offset ? row : nil
  }

  /// The first contradiction in the keys; nil when they ascend from 0.
  func inconsistency() -> String? {
    var previous: Int64 = -1
    for row in 0..<rowCount {
      let offset = offset(row)
      guard offset > previous, row > 0 || offset >= 0 else {
        return "they do not ascend at row \(row)"
      }
      previous = offset
    }
    return nil
  }
}
