/// The bytes of a cluster: a run of rows stored column by column. One extent, position independent,
/// all integers little-endian.
///
///     header      32 bytes
///       u32  headerLength     32 + 44 * columnCount
///       u32  rowCount         at most 2^20
///       u32  columnCount
///       u8   keyEncoding      0: the key of row r is firstKey + r
///                             1: it is firstKey + r + packed[r]
///       u8   keyWidth         bits of each packed value, 0 to 64
///       u16  0
///       u32  keyOffset        of the packed values, from the cluster's start
///       u32  keyLength
///       u64  keyChecksum
///     directory   44 bytes for each column, by ascending identifier
///       u32  column identifier
///       u8   encoding         `ColumnEncoding`
///       u8   statistics kind  `ColumnStatistics.Kind`
///       u16  flags            `SegmentFlags`
///       u32  offset           of the segment, from the cluster's start
///       u32  length
///       u64  checksum         XXH64 of the segment, seed 0
///       u32  nullCount
///       u64  minimum          see `ColumnStatistics`
///       u64  maximum
///     segments    back to back, keys first if there are any, then columns as in the directory
///     padding     8 zero bytes, so that a load of eight bytes may begin at any byte of a segment
///
/// A reference to the cluster has the checksum of header and directory, and these have one for every segment:
/// reading one column verifies only that column. A column that is missing in the directory is null in every
/// row. The first key is stored outside.
package enum ClusterFormat {
  package static let maximumRows = 1 << 20
  /// The largest size of a cluster; offsets have 32 bits.
  package static let maximumBytes = Int(UInt32.max) - 1

  static let fixedHeaderLength = 32
  static let entryLength = 44
  static let padding = 8

  static func headerLength(columns: Int) -> Int { fixedHeaderLength + entryLength * columns }
}
