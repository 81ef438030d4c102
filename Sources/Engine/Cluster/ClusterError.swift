/// Why a cluster could not be encoded or read.
package enum ClusterError: Error, Equatable, CustomStringConvertible {
  /// A span for encoding reaches beyond its arena.
  case spanOutside(column: Int, row: Int)
  case tooManyRows(Int)
  /// The rows need more bytes than one cluster can address.
  case tooLarge(bytes: Int)
  /// Column identifiers that repeat, or a number of them that does not match the columns.
  case invalidColumns(String)
  /// Key offsets that do not ascend, or a number of them that does not match the rows.
  case invalidKeys
  case damagedHeader(String)
  case damagedKeys(String)
  case damagedColumn(id: UInt32, String)
  /// A spelling that is not a value of its column's type.
  case misfit(column: UInt32, row: Int, type: ColumnType)

  static let wrongChecksum = "its checksum is wrong"
  static let wrongKeyChecksum = "their checksum is wrong"

  /// True when the bytes are not those that were written.
  package var isWrittenOver: Bool {
    switch self {
    case .damagedColumn(_, let what): what == Self.wrongChecksum
    case .damagedKeys(let what): what == Self.wrongKeyChecksum
    default: false
    }
  }

  package var description: String {
    switch self {
    case .spanOutside(let column, let row):
      "row \(row) of column \(column): the field lies outside the given bytes; pass the bytes the "
        + "spans were made for"
    case .tooManyRows(let count):
      "\(count) rows in one cluster: at most \(ClusterFormat.maximumRows) fit; split them"
    case .tooLarge(let bytes):
      "\(bytes) bytes in one cluster: at most \(ClusterFormat.maximumBytes) fit; use fewer rows"
    case .invalidColumns(let what): "cluster columns: \(what)"
    case .invalidKeys: "cluster keys: one for each row is needed, ascending and not negative"
    case .damagedHeader(let what): "the cluster's header is damaged: \(what)"
    case .damagedKeys(let what): "the cluster's keys are damaged: \(what)"
    case .damagedColumn(let id, let what): "column \(id) of the cluster is damaged: \(what)"
    case .misfit(let column, let row, let type):
      "row \(row) of column \(column) is no \(type.name); read it as text"
    }
  }
}
