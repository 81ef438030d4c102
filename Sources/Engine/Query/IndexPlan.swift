/// How a query finds the rows that its filter may select: with the primary key's index, with other indexes,
/// or without.
///
/// A filter can use indexes when it is a test of an indexed column, a conjunction with at least one such
/// part, or a disjunction of such parts only. The indexes give a superset of the matching rows: each
/// candidate is tested like any other row, so an outdated entry costs time but does not change the result.
///
/// The counts in the index's nodes give the number of entries before any is read. So rejecting a plan costs
/// only a few descents.
struct IndexPlan {
  /// A column's index, and the codes of the values to look up.
  struct Lookup {
    /// The columns' permanent numbers.
    let columnIDs: [UInt32]
    let index: IndexReader
    let codes: [ClosedRange<Int64>]
  }

  /// The lookups that together find all candidates.
  private(set) var lookups: [Lookup]
  /// The number of entries, including outdated ones and duplicates.
  private(set) var count: UInt64

  /// The maximum number of ranges to look up; each costs a descent in every run.
  fileprivate static let mostRanges = 4096
  /// A row found by an index costs about as much as this many rows read in order. Of a million objects, an
  /// index of numbers found 10,000 in 3 ms; comparing all numbers takes 2 ms, and all values of an
  /// uncompressed text column 20 ms.
  private static let rowCost: UInt64 = 128

  private init(_ lookups: [Lookup], _ count: UInt64) {
    self.lookups = lookups
    self.count = count
  }

  /// Makes the plan for a filter; nil when no index can be used.
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
        best = IndexPlan([Lookup(columnIDs: [test.columnID], index: index, codes: codes)], count)
      }
      if let index = try source.valueIndexReader(ofColumn: test.columnID),
        index.code.type == test.type
      {
        try consider(index.entries, test.codes(index.code))
      }
      let schema = try source.schema
      if schema.keyColumns.count == 1, schema.columnIDs[schema.keyColumns[0]] == test.columnID,
        let index = try source.keyIndexReader()
      {
        try consider(index.entries, test.codes(index.code))
      }
      return best
    case .all(let parts):
      var best = try wholeKey(parts, source)
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

  /// The plan for a conjunction that fixes every column of a key of several columns; nil for any other. The
  /// index has codes of whole keys, so it cannot find a part of a key.
  private static func wholeKey(
    _ parts: [CompiledPredicate], _ source: any LeafSource
  ) throws -> IndexPlan? {
    let schema = try source.schema
    guard schema.keyColumns.count > 1, let index = try source.keyIndexReader() else { return nil }
    let columnIDs = schema.keyColumns.map { schema.columnIDs[$0] }
    var keys: [[[UInt8]]] = [[]]
    for id in columnIDs {
      var fewest: [[UInt8]]?
      for case .test(let test) in parts where test.columnID == id {
        guard let spellings = test.keySpellings, spellings.count < fewest?.count ?? .max else {
          continue
        }
        fewest = spellings
      }
      guard let fewest else { return nil }
      guard keys.count * fewest.count <= mostRanges else { return nil }
      keys = keys.flatMap { key in fewest.map { key + [$0] } }
    }
    let codes = Set(keys.map { KeyTuple.bytes($0).withUnsafeBytes(index.code.code) }).sorted()
    let count = try codes.reduce(0 as UInt64) { $0 &+ (try index.entries.count($1...$1)) }
    return IndexPlan(
      [Lookup(columnIDs: columnIDs, index: index.entries, codes: codes.map { $0...$0 })], count)
  }

  /// Returns whether reading by the index will probably take less time than reading everything.
  ///
  /// - Parameters:
  ///   - objects: the number of objects in the table.
  ///   - limit: the number of results at which reading ends; nil: all are wanted.
  func pays(objects: Int, limit: Int?) -> Bool {
    let all = UInt64(clamping: objects)
    let (cost, overflow) = count.multipliedReportingOverflow(by: Self.rowCost)
    guard !overflow, cost <= all else { return false }
    guard let limit, count > 0 else { return true }
    // If matches are evenly spread, this many rows must be read to find enough of them.
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

/// Whether a query may use indexes; tests compare the policies.
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
      // The codes are those of unfolded letters.
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

  /// The codes of all spellings of primary keys that the test may accept, ascending. Nil when the key's index
  /// cannot be used: it has codes of spellings, so the values must determine the spellings.
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
        // With few values, their spellings with a plus sign are looked up by their hashes; otherwise all
        // hashes are looked up.
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
    default: return nil
    }
  }

  /// All spellings of a primary key's column that the test may accept; nil when there are many, or the values
  /// do not determine them.
  var keySpellings: [[UInt8]]? {
    if isNegated || reading.notation != nil { return nil }
    switch question {
    case .text(let text) where type == .text && !text.ignoresCase:
      switch text.kind {
      case .equal(let text): return [text]
      case .oneOf(let texts): return Array(texts)
      default: return nil
      }
    case .integers(let set) where type == .int || type == .date:
      var spellings: [[UInt8]] = []
      for range in set.ranges {
        let (width, isWide) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        guard !isWide, width < 8, spellings.count < IndexPlan.mostRanges else { return nil }
        for value in range {
          let day = type == .date ? CalendarDate(daysSince1970: Int(value)) : nil
          let text = (day.map(Value.date) ?? .int(value)).spelling
          spellings.append(text)
          if type == .int, value >= 0 { spellings.append([0x2B] + text) }
        }
      }
      return spellings
    default: return nil
    }
  }

  /// Ranges in order, with gaps between them.
  private static func joined(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    NumberSet(ranges).ranges
  }
}
