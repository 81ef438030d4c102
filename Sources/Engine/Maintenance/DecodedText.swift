/// The text that each column of adjacent leaves has once it is decoded, estimated from a few strings of each
/// leaf.
///
/// Compressed text may take a thirtieth of its bytes, so the size of leaves in the file does not bound the
/// memory that merging them takes. Numbers, dates and changed rows, which are never many, do not count.
///
/// The estimate depends on the leaves alone: groups that are made by it are the same every time.
struct DecodedText {
  /// Strings of a column that are decoded, and the bytes after which no other is.
  private static let (sampledStrings, sampledBytes) = (16, 64 << 10)

  private let columns: [UInt32]
  private let most: Int
  private var bytes: [Int]

  /// - Parameter most: the bytes of one column that a group may have.
  init(of columns: [UInt32], most: Int) {
    self.columns = columns
    self.most = most
    bytes = Array(repeating: 0, count: columns.count)
  }

  /// Adds the text of a leaf, unless a column would have too much then.
  ///
  /// - Parameter first: the first leaf of a group, if this is the second.
  /// - Complexity: O(bytes of the leaves), whose checksums are compared; but little of them is decoded.
  /// - Throws: `BlockError`, `ClusterError`.
  mutating func add(
    _ leaf: NodeEntry, behind first: NodeEntry?, _ tree: TreeReader
  ) throws -> Bool {
    if let first { bytes = try measure(first, tree.blocks, end: tree.end) }
    var sums = bytes
    for (place, more) in try measure(leaf, tree.blocks, end: tree.end).enumerated() {
      sums[place] = Int(clamping: UInt(clamping: sums[place]) + UInt(clamping: more))
    }
    guard sums.allSatisfy({ $0 <= most }) else { return false }
    bytes = sums
    return true
  }

  /// The text of each column of a leaf.
  ///
  /// - Throws: `BlockError`, `ClusterError`.
  func measure(_ entry: NodeEntry, _ blocks: BlockReader, end: UInt64) throws -> [Int] {
    if columns.isEmpty { return [] }
    let cluster = try Leaf(entry, blocks, end: end).cluster
    return try columns.map { try Self.bytes(of: cluster.open(id: $0)) }
  }

  private static func bytes(of column: ColumnReader) -> Int {
    let strings: StoredStrings
    switch column.body {
    case .dictionary(let dictionary): strings = dictionary.entries
    case .packedText(let text): strings = text.strings
    default: return 0
    }
    if let digits = strings.digits {
      // At most all literals are in every string.
      return strings.packed.total + digits.literalCount * strings.count
    }
    guard let symbols = strings.symbols else { return strings.packed.total }
    var (codes, decoded) = (0, 0)
    let step = max(1, strings.count / sampledStrings)
    for index in stride(from: step / 2, to: strings.count, by: step) where codes < sampledBytes {
      let string = strings.packed.bytes(index)
      codes += string.count
      decoded += symbols.decodedCount(string)
    }
    // Nearly all are empty: the others could be anything.
    if codes == 0 { return strings.packed.total * 8 }
    return Int(Double(strings.packed.total) * Double(decoded) / Double(codes))
  }
}
