import Base

/// Encodes some of a table's leaves as a compaction would, to estimate the size of all of them.
///
/// Samples are taken at a few places, evenly distributed over a table's bytes, so that a leaf counts by its
/// size. A place is a run of whole leaves, and smaller than a compacted cluster, in which more rows share
/// symbol tables and dictionaries. To measure that difference, one such cluster is encoded both whole and as
/// places.
///
/// Thread rule: confined.
package struct ClusterSampler {
  /// The size of the sample.
  package struct Limits: Sendable {
    /// The number of places in a table.
    package var places = 8
    /// The bytes of the leaves of a place, which has at least one leaf.
    package var placeBytes = 256 << 10
    /// Tables with at most this many bytes are encoded completely.
    package var wholeBytes = 4 << 20
    /// The number of rows in a compacted cluster.
    package var clusterRows = Compactor.clusterRows

    package init(places: Int = 8) { self.places = max(3, places) }
  }

  /// The measurements for a table's clusters and changed rows.
  package struct Result: Equatable {
    package var before = 0
    package var after = 0
    package var possibleError = 0
    /// The number of objects that were encoded anew.
    package var objects = 0
    package var places = 0
  }

  private let blocks: BlockReader
  private let end: UInt64
  private let limits: Limits
  private let team: MergingTeam
  private let builder = ClusterBuilder()

  package init(_ blocks: BlockReader, end: UInt64, _ limits: Limits) {
    self.blocks = blocks
    self.end = end
    self.limits = limits
    team = MergingTeam(size: min(System.processorCount, Compactor.mostThreads))
  }

  /// - Complexity: O(leaves), plus encoding a sample as large as the limits allow.
  /// - Throws: `BlockError`, `ClusterError` when the file is damaged.
  package func measure(_ tree: TreeReader, columns: [UInt32]) throws -> Result {
    let size = try LeafBytes(tree)
    var result = Result()
    result.before = size.total
    var groups = ClusterGroups(tree, of: columns, clusterRows: limits.clusterRows)
    if size.total <= limits.wholeBytes {
      while let group = try groups.next() {
        let encoded = try encode([group], columns)
        result.after += encoded.reduce(0) { $0 + $1.after }
        result.objects += encoded.reduce(0) { $0 + $1.objects }
      }
      return result
    }
    let chosen = try places(of: &groups, size)
    try estimate(chosen, columns, &result)
    return result
  }

  // MARK: Choosing

  private struct Chosen {
    /// Runs of leaves, each with the number of marks in it.
    var places: [(leaves: [NodeEntry], marks: Int)] = []
    /// All leaves of one future cluster, and places in it. The other places lie elsewhere.
    var whole: [NodeEntry] = []
    var parts: [[NodeEntry]] = []
  }

  private func places(of groups: inout ClusterGroups, _ size: LeafBytes) throws -> Chosen {
    // Fewer if leaves are as large as compaction makes them.
    let most = max(3, min(limits.places, limits.wholeBytes / max(1, size.typical)))
    let marks = (0..<most).map {
      Int((Double(2 * $0 + 1) / Double(2 * most) * Double(size.total)).rounded(.down))
    }
    var chosen = Chosen()
    var next = 0
    var position = 0
    while next < marks.count, let group = try groups.next() {
      let sizes = try group.map { try blocks.byteCount(ofLeaf: $0, end: end) }
      defer { position += sizes.reduce(0, +) }
      var start = position
      var place: Range<Int> = 0..<0
      for (index, bytes) in sizes.enumerated() {
        defer { start += bytes }
        while next < marks.count, marks[next] < start + bytes {
          if place.contains(index) {
            chosen.places[chosen.places.count - 1].marks += 1
          } else {
            place = run(around: index, sizes)
            chosen.places.append((Array(group[place]), 1))
          }
          if next == marks.count / 2 {
            chosen.whole = group
            chosen.parts = [0, index, group.count - 1].map {
              Array(group[run(around: $0, sizes)])
            }
          }
          next += 1
        }
      }
    }
    return chosen
  }

  /// The leaves of a place, from one leaf on, or from an earlier one if the group ends too early.
  private func run(around index: Int, _ sizes: [Int]) -> Range<Int> {
    var (low, high, bytes) = (index, index + 1, sizes[index])
    while bytes < limits.placeBytes, high < sizes.count {
      bytes += sizes[high]
      high += 1
    }
    while bytes < limits.placeBytes, low > 0 {
      low -= 1
      bytes += sizes[low]
    }
    return low..<high
  }

  // MARK: Measuring

  private struct Encoded {
    var before = 0
    var after = 0
    var objects = 0

    var ratio: Double { before == 0 ? 1 : Double(after) / Double(before) }

    static func + (a: Encoded, b: Encoded) -> Encoded {
      Encoded(before: a.before + b.before, after: a.after + b.after, objects: a.objects + b.objects)
    }
  }

  private func estimate(_ chosen: Chosen, _ columns: [UInt32], _ result: inout Result) throws {
    // The long one first.
    let runs = [chosen.whole] + chosen.parts + chosen.places.map(\.leaves)
    let encoded = try encodeOnce(runs, columns)
    let (whole, parts) = (encoded[0], encoded[1...chosen.parts.count])
    let places = encoded[(1 + chosen.parts.count)...]
    // How much smaller rows become in a whole cluster than in places of it.
    let scale = whole.ratio / max(parts.reduce(Encoded(), +).ratio, .leastNormalMagnitude)
    let ratios = zip(places, chosen.places).flatMap { place, chosen in
      Array(repeating: place.ratio * scale, count: chosen.marks)
    }
    let mean = ratios.reduce(0, +) / Double(max(1, ratios.count))
    let rest = Double(result.before - whole.before)
    // No file is as large, but a damaged one may claim any size.
    result.after = whole.after + Int(min(rest * mean, Double(1 << 60)))

    // Differences of neighbours, not from the mean, since evenly distributed places follow a trend.
    let steps = zip(ratios, ratios.dropFirst()).reduce(0) { $0 + ($1.1 - $1.0) * ($1.1 - $1.0) }
    let variance = steps / Double(2 * max(1, ratios.count - 1))
    let deviation = (variance / Double(max(1, ratios.count))).squareRoot()
    // The spread of the parts is a bound for the error of the scale, which may be different elsewhere.
    let shares = parts.map(\.ratio)
    let spread = ((shares.max() ?? 0) - (shares.min() ?? 0)) * scale / 2
    let error = 3 * deviation + spread / 2 + mean * (abs(1 - scale) / 3 + 0.02)
    result.possibleError = Int(rest * min(error, 1))

    var objects: [Int64: Int] = [:]
    for run in runs { for leaf in run { objects[leaf.firstKey] = Int(clamping: leaf.count) } }
    result.objects = objects.values.reduce(0, +)
    result.places = chosen.places.count
  }

  /// Encodes runs of leaves, equal runs only once.
  private func encodeOnce(_ runs: [[NodeEntry]], _ columns: [UInt32]) throws -> [Encoded] {
    struct Name: Hashable {
      let first: Int64?
      let leaves: Int
    }
    var places: [Name: Int] = [:]
    var once: [[NodeEntry]] = []
    let indices = runs.map { run in
      let name = Name(first: run.first?.firstKey, leaves: run.count)
      if let place = places[name] { return place }
      places[name] = once.count
      once.append(run)
      return once.count - 1
    }
    let encoded = try encode(once, columns)
    return indices.map { encoded[$0] }
  }

  /// Encodes runs of leaves, each as a cluster.
  private func encode(_ runs: [[NodeEntry]], _ columns: [UInt32]) throws -> [Encoded] {
    let (blocks, end) = (blocks, end)
    let items = runs.flatMap { run in columns.map { (run: run, column: $0) } }
    let encoded = try team.map(items) { item, merger in
      try merger.encodeOnly(column: item.column, of: item.run, blocks, end: end).column
    }
    return try runs.enumerated().map { index, run in
      let offsets = try ClusterMerger.keyOffsets(of: run, blocks, end: end)
      let own = Array(encoded[index * columns.count..<(index + 1) * columns.count])
      let cluster = try builder.assemble(own, rowCount: offsets.count, keyOffsets: offsets)
      var result = Encoded(after: cluster.bytes.count, objects: offsets.count)
      for entry in run {
        result.before += try blocks.byteCount(ofLeaf: entry, end: end)
        blocks.forget(entry, end: end)
      }
      return result
    }
  }
}

/// The sizes of a tree's leaves.
private struct LeafBytes {
  private(set) var total = 0
  /// The mean size of the leaf that contains a byte.
  private(set) var typical = 0

  init(_ tree: TreeReader) throws {
    var cursor = tree.leaves()
    var squares = 0.0
    while let found = try cursor.next() {
      let bytes = try tree.blocks.byteCount(ofLeaf: found.entry, end: tree.end)
      total += bytes
      squares += Double(bytes) * Double(bytes)
    }
    typical = total == 0 ? 0 : Int(squares / Double(total))
  }
}
