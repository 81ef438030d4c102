/// Finds the distinct spellings of a column with an open-addressed hash table, which is reused for every
/// column.
///
/// A slot is `generation (16 bits) | part of the hash (24) | entry (24)`. A slot of an older generation is
/// empty, so starting again costs nothing. The hash is seeded at random, so a file whose fields all collide
/// cannot be constructed. The result does not depend on the seed.
struct DictionaryBuilder: ~Copyable {
  struct Entry: BitwiseCopyable {
    var hash: UInt64
    var ends: SpellingEnds
    var span: TextSpan
    var firstRow: UInt32
  }

  /// The distinct spellings; valid until the next build.
  struct Result {
    let entries: UnsafePointer<Entry>
    /// The entry of each row, `UInt32.max` for null.
    let indices: UnsafePointer<UInt32>
    let strings: PackedStringsPlan
  }

  private var slots = Scratch<UInt64>(capacity: smallestTable)
  private var entries = Scratch<Entry>(capacity: 1024)
  private var indices = Scratch<UInt32>(capacity: 1024)
  /// A byte for each number, or hash, of `isHopeless`.
  private var seen = Scratch<UInt8>(capacity: hashes)
  private var generation: UInt64 = 0
  private var mask = smallestTable - 1
  private let firstSeed = UInt64.random(in: .min ... .max)
  private let secondSeed = UInt64.random(in: .min ... .max)

  private static let smallestTable = 2048
  /// Numbers that span less than this have a slot each: the table's 32 KiB stay in a core's nearest cache.
  private static let mostPlaces: Int64 = 4096
  /// Numbers that span less than this are counted exactly, if there are not too few for that.
  private static let mostCounted: Int64 = 1 << 14
  private static let hashes = 1 << 12
  private static let entryMask: UInt64 = 1 << 24 - 1

  init() { slots.pointer.update(repeating: 0, count: slots.capacity) }

  /// Collects the distinct spellings; nil as soon as a dictionary without runs can no longer be smaller than
  /// `limit` bytes.
  ///
  /// - Parameter scan: the spellings as numbers, if most are numbers. If all are, numbers are compared
  ///   instead of spellings, as each number has one spelling then.
  /// - Complexity: O(n): hashes every byte, or every number.
  mutating func build(
    _ column: GatheredColumn, _ scan: TypedScan?, limit: Int, effort: EncodingEffort
  ) -> Result? {
    let spellings = SpellingKeys(column: column, firstSeed: firstSeed, secondSeed: secondSeed)
    guard let scan else {
      return build(column, spellings, places: Self.smallestTable, limit: limit, effort)
    }
    let (range, overflow) = scan.high.subtractingReportingOverflow(scan.low)
    let isOneScale = scan.singleScale != nil && !overflow
    let isCounted =
      effort == .fast && isOneScale
      && range < min(Self.mostCounted, Int64(column.rowCount &* 16))
    let isHopeless =
      isCounted
      ? exceedsLimit(column, scan, places: Int(range) &+ 1, limit: limit)
      : isHopeless(column, scan, limit: limit, effort)
    if isHopeless { return nil }
    if scan.misfits > 0 {
      return build(column, spellings, places: Self.smallestTable, limit: limit, effort)
    }
    if isOneScale, range < Self.mostPlaces {
      let places = max(Self.smallestTable, 1 &<< BitPacking.width(UInt64(bitPattern: range)))
      return build(
        column, PlaceKeys(numbers: scan.numbers, low: scan.low), places: places, limit: limit,
        effort)
    }
    let keys = NumberKeys(numbers: scan.numbers, scales: scan.scales, seed: firstSeed)
    return build(column, keys, places: Self.smallestTable, limit: limit, effort)
  }

  private mutating func build<Keys: DictionaryKeys>(
    _ column: GatheredColumn, _ keys: Keys, places: Int, limit: Int, _ effort: EncodingEffort
  ) -> Result? {
    let rowIndices = indices.reserve(column.rowCount)
    var room = entries.reserve(1024)
    var capacity = entries.capacity
    startTable(places)
    var strings = PackedStringsPlan()
    var allowed = allowedBytes(column, entries: 1, limit: limit, effort)
    for row in 0..<column.rowCount {
      let span = column.spans[row]
      if span.isNull {
        rowIndices[row] = .max
        continue
      }
      let key = keys.key(row, span)
      let hash = keys.hash(key)
      let found = find(key, hash, keys, room)
      if found.entry >= 0 {
        rowIndices[row] = UInt32(truncatingIfNeeded: found.entry)
        continue
      }
      let entry = strings.count
      if entry == capacity {
        room = entries.reserve(capacity &* 2, keeping: capacity)
        capacity = entries.capacity
      }
      room[entry] = Entry(
        hash: hash, ends: keys.ends(key), span: span, firstRow: UInt32(truncatingIfNeeded: row))
      slots.pointer[found.slot] = slotValue(hash, entry)
      rowIndices[row] = UInt32(truncatingIfNeeded: entry)
      strings.add(length: Int(span.length))
      // The width of indices changes only at a power of two, or one after it.
      if strings.count & (strings.count &- 1) == 0 || entry & (entry &- 1) == 0 {
        allowed = allowedBytes(column, entries: strings.count, limit: limit, effort)
      }
      if strings.total > allowed { return nil }
      if strings.count &* 2 > mask { growTable(room, strings.count) }
    }
    return Result(
      entries: UnsafePointer(room), indices: UnsafePointer(rowIndices), strings: strings)
  }

  /// Like `isHopeless` for numbers of one scale and a small range, whose indices are not coded. Counts those
  /// that differ, so that nothing is collected in vain where a dictionary is larger by little.
  ///
  /// - Parameter places: how many numbers there are from the lowest to the highest.
  private mutating func exceedsLimit(
    _ column: GatheredColumn, _ scan: TypedScan, places: Int, limit: Int
  ) -> Bool {
    let seen = seen.reserve(places)
    seen.update(repeating: 0, count: places)
    let (spans, numbers, low) = (column.spans, scan.numbers, scan.low)
    var (entries, total) = (0, 0)
    for row in 0..<column.rowCount {
      let place = seen + Int(truncatingIfNeeded: numbers[row] &- low)
      let isNew = 1 &- Int(place.pointee)
      place.pointee = 1
      entries &+= isNew
      total &+= isNew &* Int(spans[row].length)
    }
    // Misfits have one number together, and a null in front has that of the first value.
    let uncounted = (scan.misfits &+ 1) &* column.lengths.maximum
    return LeastSizes(column, scan).exceed(
      limit, entries: entries, total: total,
      mayBeDigits: total &+ uncounted >= EncodingEffort.fast.smallestDigits)
  }

  /// True when a dictionary without runs is certainly larger than `limit`, because so many numbers differ.
  /// Counting them takes a third of the time of collecting them.
  ///
  /// Counts a number when its hash, one of 4,096, is new: never more numbers than differ.
  private mutating func isHopeless(
    _ column: GatheredColumn, _ scan: TypedScan, limit: Int, _ effort: EncodingEffort
  ) -> Bool {
    let seen = seen.reserve(Self.hashes)
    seen.update(repeating: 0, count: Self.hashes)
    let (spans, numbers) = (column.spans, scan.numbers)
    var (entries, total) = (0, 0)
    var row = 0
    while row < column.rowCount {
      let end = min(row &+ 64, column.rowCount)
      while row < end {
        let hash = (UInt64(bitPattern: numbers[row]) &* 0x9E37_79B9_7F4A_7C15) &>> 52
        let place = seen + Int(truncatingIfNeeded: hash)
        let isNew = 1 &- Int(place.pointee)
        place.pointee = 1
        entries &+= isNew
        // A null row adds no length; its number is that of another row.
        total &+= Int(spans[row].length) & (0 &- isNew)
        row &+= 1
      }
      if total > allowedBytes(column, entries: max(entries, 1), limit: limit, effort) {
        return true
      }
      // Most numbers are repetitions, so most others will probably be, too.
      if entries < row / 2 { return false }
    }
    return false
  }

  /// The most bytes that entries may have so that a dictionary of at least `entries` entries is not larger
  /// than `limit`. Runs are not considered, whose indices may be smaller than is assumed here.
  private func allowedBytes(
    _ column: GatheredColumn, entries: Int, limit: Int, _ effort: EncodingEffort
  ) -> Int {
    let width = DictionaryEncoding.width(entries: entries, hasNulls: column.nullCount > 0)
    let packed = BitPacking.byteCount(column.rowCount, width: width)
    // `FreshIndices` take at least one bit for each row, however many entries follow.
    let indices = min(packed, (column.rowCount &+ 7) &>> 3)
    let left = limit &- DictionaryEncoding.headerSize &- PackedStrings.headerSize &- indices
    // Codes may take one bit for each row.
    return effort == .fast ? left : max(left, limit &- column.rowCount / 8)
  }

  // MARK: The table

  private mutating func startTable(_ size: Int) {
    if size > slots.capacity {
      let fresh = slots.reserve(size)
      fresh.update(repeating: 0, count: slots.capacity)
      generation = 0
    }
    generation &+= 1
    if generation == 1 << 16 {
      slots.pointer.update(repeating: 0, count: slots.capacity)
      generation = 1
    }
    mask = size &- 1
  }

  @inline(never)
  private mutating func growTable(_ room: UnsafeMutablePointer<Entry>, _ count: Int) {
    startTable((mask &+ 1) &* 4)
    let table = slots.pointer
    for entry in 0..<count {
      var slot = Int(truncatingIfNeeded: room[entry].hash) & mask
      while table[slot] &>> 48 == generation { slot = (slot &+ 1) & mask }
      table[slot] = slotValue(room[entry].hash, entry)
    }
  }

  @inline(__always)
  private func slotValue(_ hash: UInt64, _ entry: Int) -> UInt64 {
    generation &<< 48 | (hash &>> 40) &<< 24 | UInt64(truncatingIfNeeded: entry)
  }

  /// The entry with this key; -1 and the slot for it when there is none.
  @inline(__always)
  private func find<Keys: DictionaryKeys>(
    _ key: Keys.Key, _ hash: UInt64, _ keys: Keys, _ room: UnsafeMutablePointer<Entry>
  ) -> (entry: Int, slot: Int) {
    let table = slots.pointer
    let wanted = slotValue(hash, 0)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while true {
      let value = table[slot]
      // Equal except for the entry number: same generation, same part of the hash.
      if value ^ wanted <= Self.entryMask {
        let entry = Int(truncatingIfNeeded: value & Self.entryMask)
        if keys.isKey(key, of: room + entry) { return (entry, slot) }
      } else if value &>> 48 != generation {
        return (-1, slot)
      }
      slot = (slot &+ 1) & mask
    }
  }
}

/// How a dictionary's entries are distinguished.
private protocol DictionaryKeys {
  associatedtype Key

  func key(_ row: Int, _ span: TextSpan) -> Key
  func hash(_ key: Key) -> UInt64
  func ends(_ key: Key) -> SpellingEnds
  func isKey(_ key: Key, of entry: UnsafePointer<DictionaryBuilder.Entry>) -> Bool
}

/// After Wang Yi's wyhash: multiplies words into 128 bits and folds the halves.
@inline(__always)
private func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right ^ 0x9E37_79B9_7F4A_7C15)
  return product.high ^ product.low
}

/// Distinguishes entries by their bytes.
private struct SpellingKeys: DictionaryKeys {
  let column: GatheredColumn
  let firstSeed: UInt64
  let secondSeed: UInt64

  @inline(__always)
  func key(_ row: Int, _ span: TextSpan) -> (spelling: SpellingView, ends: SpellingEnds) {
    let spelling = column.spelling(span)
    return (spelling, spelling.ends)
  }

  /// Up to 16 bytes take one multiplication and no branch: lengths are unpredictable.
  @inline(__always)
  func hash(_ key: (spelling: SpellingView, ends: SpellingEnds)) -> UInt64 {
    let spelling = key.spelling
    var hash = secondSeed ^ UInt64(truncatingIfNeeded: spelling.count)
    var offset = 8
    while offset &+ 8 < spelling.count {
      hash = fold(spelling.fullWord(at: offset) ^ firstSeed, hash)
      offset &+= 8
    }
    return fold(key.ends.first ^ firstSeed, key.ends.last ^ hash)
  }

  @inline(__always)
  func ends(_ key: (spelling: SpellingView, ends: SpellingEnds)) -> SpellingEnds { key.ends }

  @inline(__always)
  func isKey(
    _ key: (spelling: SpellingView, ends: SpellingEnds),
    of entry: UnsafePointer<DictionaryBuilder.Entry>
  ) -> Bool {
    entry.pointee.ends == key.ends && Int(entry.pointee.span.length) == key.spelling.count
      && (key.spelling.count <= 16 || key.spelling.equals(column.spelling(entry.pointee.span)))
  }
}

/// Distinguishes entries by their numbers and scales.
private struct NumberKeys: DictionaryKeys {
  let numbers: UnsafeMutablePointer<Int64>
  let scales: UnsafeMutablePointer<UInt8>
  let seed: UInt64

  @inline(__always)
  func key(_ row: Int, _ span: TextSpan) -> (number: Int64, scale: UInt8) {
    (numbers[row], scales[row])
  }

  @inline(__always)
  func hash(_ key: (number: Int64, scale: UInt8)) -> UInt64 {
    // Without the scale: the same digits with the point in another place are rare.
    fold(UInt64(bitPattern: key.number) ^ seed, seed)
  }

  @inline(__always)
  func ends(_ key: (number: Int64, scale: UInt8)) -> SpellingEnds { .none }

  @inline(__always)
  func isKey(
    _ key: (number: Int64, scale: UInt8), of entry: UnsafePointer<DictionaryBuilder.Entry>
  ) -> Bool {
    let row = Int(entry.pointee.firstRow)
    return numbers[row] == key.number && scales[row] == key.scale
  }
}

/// Distinguishes entries by their numbers, all of one scale, each with a place of its own in the table.
private struct PlaceKeys: DictionaryKeys {
  let numbers: UnsafeMutablePointer<Int64>
  let low: Int64

  @inline(__always)
  func key(_ row: Int, _ span: TextSpan) -> UInt64 { UInt64(bitPattern: numbers[row] &- low) }

  @inline(__always)
  func hash(_ key: UInt64) -> UInt64 { key }

  @inline(__always)
  func ends(_ key: UInt64) -> SpellingEnds { .none }

  @inline(__always)
  func isKey(_ key: UInt64, of entry: UnsafePointer<DictionaryBuilder.Entry>) -> Bool { true }
}
