/// How a query finds the rows that its filter may select: by indexes, the primary key's or others, or not.
///
/// A filter can use indexes when it is a test of a column with one, a conjunction of which one part can, or
/// a disjunction of which all can. What the indexes name is a superset of the rows that match: each is
/// tested like any other, so an entry that is out of date costs time and changes nothing.
///
/// How many entries there are is known before any is read, from the counts in the index's nodes. So a plan
/// that does not pay costs a few descents.
struct IndexPlan {
  /// A column's index, and the codes that its values may have.
  struct Lookup {
    let columnID: UInt32
    let index: IndexReader
    let codes: [ClosedRange<Int64>]
  }

  /// All of them together find the candidates.
  private(set) var lookups: [Lookup]
  /// Entries, those that are out of date or found twice included.
  private(set) var count: UInt64

  /// More ranges are not looked up: each is a descent in every run.
  private static let mostRanges = 4096
  /// A row that an index names costs about as much as so many that are read in order. Of a million objects,
  /// 10,000 found by an index of numbers took 3 ms, where all numbers are compared in 2 ms, all of
  /// an uncompressed text in 20 ms.
  private static let rowCost: UInt64 = 128

  private init(_ lookups: [Lookup], _ count: UInt64) {
    self.lookups = lookups
    self.count = count
  }

  /// The plan for a filter; nil when no index helps with it.
  ///
  /// - Throws: `BlockError`, `EngineError` when a block of an index is damaged.
  init?(_ filter: CompiledPredicate, _ source: any LeafSource) throws {
    guard let plan = try Self.plan(filter, source) else { return nil }
    self = plan
  }

  private static func plan(
    _ predicate: CompiledPredicate, _ source: any LeafSource
  ) throws -> IndexPlan? {
    switch predicate {
    case .constant(let isTrue): return isTrue ? nil : IndexPlan([], 0)
    case .test(let test):
      var best: IndexPlan?
      func consider(_ index: IndexReader, _ codes: [ClosedRange<Int64>]?) throws {
        guard let codes, codes.count <= mostRanges else { return }
        let count = try codes.reduce(0 as UInt64) { $0 &+ (try index.count($1)) }
        guard count < best?.count ?? .max else { return }
        best = IndexPlan([Lookup(columnID: test.columnID, index: index, codes: codes)], count)
      }
      if let index = try source.valueIndexReader(ofColumn: test.columnID),
        index.code.type == test.type
      {
        try consider(index.entries, test.codes(index.code))
      }
      if let index = try source.keyIndexReader(ofColumn: test.columnID) {
        try consider(index.entries, test.codes(index.code))
      }
      return best
    case .all(let parts):
      var best: IndexPlan?
      for part in parts {
        guard let plan = try plan(part, source) else { continue }
        if plan.count < best?.count ?? .max { best = plan }
        if plan.count == 0 { break }
      }
      return best
    case .any(let parts):
      var all = IndexPlan([], 0)
      for part in parts {
        guard let plan = try plan(part, source) else { return nil }
        all.lookups += plan.lookups
        all.count &+= plan.count
      }
      return all
    }
  }

  /// Whether reading by the index is likely to take less time than reading everything.
  ///
  /// - Parameters:
  ///   - objects: how many the table has.
  ///   - limit: so many results end the reading; nil: all are wanted.
  func pays(objects: Int, limit: Int?) -> Bool {
    let all = UInt64(clamping: objects)
    let (cost, overflow) = count.multipliedReportingOverflow(by: Self.rowCost)
    guard !overflow, cost <= all else { return false }
    guard let limit, count > 0 else { return true }
    // Where the matches are spread evenly, this many rows are read until there are enough.
    let (rows, isMany) = UInt64(clamping: limit).multipliedReportingOverflow(by: all / count)
    return isMany || cost <= rows
  }

  /// The keys of the objects that may match, ascending, each once.
  ///
  /// - Throws: `BlockError` when a block of an index is damaged.
  func candidates() throws -> [Int64] {
    var keys: [Int64] = []
    keys.reserveCapacity(Int(clamping: min(count, 1 << 24)))
    for lookup in lookups {
      for codes in lookup.codes { try lookup.index.forEachObject(codes) { keys.append($0) } }
    }
    keys.sort()
    var kept = 0
    for key in keys where kept == 0 || keys[kept - 1] != key {
      keys[kept] = key
      kept += 1
    }
    keys.removeLast(keys.count - kept)
    return keys
  }
}

/// Whether a query may use indexes; tests compare them all.
package enum IndexPolicy: Sendable, CaseIterable {
  case never
  case whenItPays
  case always
}

extension CompiledTest {
  /// The codes of all values that the test may accept, ascending; nil when an index does not help.
  func codes(_ code: ValueCode) -> [ClosedRange<Int64>]? {
    if isNegated { return nil }
    switch question {
    case .isNull: return [ValueCode.null...ValueCode.null]
    case .isNaN: return [ValueCode.nan...ValueCode.nan]
    case .integers(let set):
      return Self.joined(
        set.ranges.map {
          ValueCode.code(ofInteger: $0.lowerBound)...ValueCode.code(ofInteger: $0.upperBound)
        })
    case .doubles(let set):
      return Self.joined(
        set.ranges.map { ValueCode.code($0.lowerBound)...ValueCode.code($0.upperBound) })
    case .wides(let set): return Self.joined(set.ranges.compactMap(code.codes))
    case .text(let text):
      // The codes are those of the letters as they are.
      return text.ignoresCase ? nil : Self.codes(text.kind, code).map(Self.joined)
    }
  }

  private static func codes(_ kind: TextTest.Kind, _ code: ValueCode) -> [ClosedRange<Int64>]? {
    func exact(_ text: [UInt8]) -> ClosedRange<Int64> {
      let code = text.withUnsafeBytes { code.code(ofText: $0) }
      return code...code
    }
    switch kind {
    case .equal(let text): return [exact(text)]
    case .oneOf(let texts): return texts.map(exact)
    case .between(let low, let high):
      return ValueCode.codes(ofTextsFrom: low?.bytes, to: high?.bytes).map { [$0] } ?? []
    case .beginsWith(let prefix): return prefix.isEmpty ? nil : [ValueCode.codes(ofPrefix: prefix)]
    case .like(let pattern):
      let prefix = pattern.literalPrefix
      return prefix.isEmpty ? nil : [ValueCode.codes(ofPrefix: prefix)]
    case .contains, .endsWith: return nil
    }
  }

  /// The codes of all spellings of primary keys that the test may accept, ascending; nil when their
  /// index does not help: it knows spellings, so it helps where these follow from the values.
  func codes(_ code: KeyCode) -> [ClosedRange<Int64>]? {
    if isNegated || reading.notation != nil { return nil }
    func exact(_ text: [UInt8]) -> ClosedRange<Int64> {
      let code = text.withUnsafeBytes(code.code)
      return code...code
    }
    switch question {
    case .text(let text) where type == .text && !text.ignoresCase:
      switch text.kind {
      case .equal(let text): return [exact(text)]
      case .oneOf(let texts): return Self.joined(texts.map(exact))
      default: return nil
      }
    case .integers(let set) where type == .int:
      var codes: [ClosedRange<Int64>] = []
      for range in set.ranges {
        // Where there are few values, those with a plus are looked up by their hashes; else all hashes are.
        let (width, isWide) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        if !isWide, width < 8 {
          for value in range {
            let text = Array(String(value).utf8)
            codes.append(exact(text))
            if value >= 0 { codes.append(exact([0x2B] + text)) }
          }
        } else {
          let low = max(range.lowerBound, KeyCode.integers.lowerBound)
          let high = min(range.upperBound, KeyCode.integers.upperBound)
          if low <= high { codes.append(low...high) }
          codes.append(code.hashes)
        }
      }
      return Self.joined(codes)
    case .wides(let set) where type == .uuid:
      // Keys that are UUIDs have the one spelling.
      guard set.ranges.allSatisfy({ $0.lowerBound == $0.upperBound }) else { return nil }
      return Self.joined(
        set.ranges.map { exact(UniqueIdentifier(bits: $0.lowerBound.body).spelling) })
    default: return nil
    }
  }

  /// Ranges in order and apart.
  private static func joined(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    NumberSet(ranges).ranges
  }
}
