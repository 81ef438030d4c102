/// Finds the distinct spellings of a column with an open-addressed hash table, used again for every
/// column.
///
/// A slot is `generation (16 bits) | part of the hash (24) | entry (24)`. A slot of an older
/// generation is empty, so starting over costs nothing. The hash is seeded at random: nobody can make
/// a file whose fields all collide. What is built does not depend on the seed.
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
  private var generation: UInt64 = 0
  private var mask = smallestTable - 1
  private let firstSeed = UInt64.random(in: .min ... .max)
  private let secondSeed = UInt64.random(in: .min ... .max)

  private static let smallestTable = 2048
  private static let entryMask: UInt64 = 1 << 24 - 1

  init() { slots.pointer.update(repeating: 0, count: slots.capacity) }

  /// Collects the distinct spellings; nil as soon as a dictionary cannot be smaller than `limit`
  /// bytes any more.
  ///
  /// - Complexity: O(n) hashing of every byte.
  mutating func build(
    _ column: GatheredColumn, limit: Int, effort: EncodingEffort
  ) -> Result? {
    let rowIndices = indices.reserve(column.rowCount)
    var room = entries.reserve(1024)
    var capacity = entries.capacity
    startTable(Self.smallestTable)
    var strings = PackedStringsPlan()
    var allowed = allowedBytes(column, entries: 1, limit: limit, effort)
    for row in 0..<column.rowCount {
      let span = column.spans[row]
      if span.isNull {
        rowIndices[row] = .max
        continue
      }
      let spelling = column.spelling(span)
      let ends = spelling.ends
      let hash = hash(spelling, ends)
      let found = find(spelling, ends, hash, column, room)
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
        hash: hash, ends: ends, span: span,
        firstRow: UInt32(truncatingIfNeeded: row))
      slots.pointer[found.slot] = slotValue(hash, entry)
      rowIndices[row] = UInt32(truncatingIfNeeded: entry)
      strings.add(length: spelling.count)
      // The width of indices can only have changed at a power of two, or one after it.
      if strings.count & (strings.count &- 1) == 0 || entry & (entry &- 1) == 0 {
        allowed = allowedBytes(column, entries: strings.count, limit: limit, effort)
      }
      if strings.total > allowed { return nil }
      if strings.count &* 2 > mask { growTable(room, strings.count) }
    }
    return Result(
      entries: UnsafePointer(room), indices: UnsafePointer(rowIndices), strings: strings)
  }

  /// Bytes of entries above which the dictionary is larger than `limit`, given at least `entries`.
  private func allowedBytes(
    _ column: GatheredColumn, entries: Int, limit: Int, _ effort: EncodingEffort
  ) -> Int {
    let width = DictionaryEncoding.width(entries: entries, hasNulls: column.nullCount > 0)
    let packed = BitPacking.byteCount(column.rowCount, width: width)
    // `FreshIndices` take a bit for each row at least, however many entries are still to come.
    let indices = min(packed, (column.rowCount &+ 7) &>> 3)
    let left = limit &- DictionaryEncoding.headerSize &- PackedStrings.headerSize &- indices
    // Codes may take a bit for each row.
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

  /// The entry with this spelling, or -1 and the slot where it belongs.
  @inline(__always)
  private func find(
    _ spelling: SpellingView, _ ends: SpellingEnds, _ hash: UInt64, _ column: GatheredColumn,
    _ room: UnsafeMutablePointer<Entry>
  ) -> (entry: Int, slot: Int) {
    let table = slots.pointer
    let wanted = slotValue(hash, 0)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while true {
      let value = table[slot]
      // Equal but for the entry number: same generation, same part of the hash.
      if value ^ wanted <= Self.entryMask {
        let entry = Int(truncatingIfNeeded: value & Self.entryMask)
        let candidate = room + entry
        if candidate.pointee.ends == ends, Int(candidate.pointee.span.length) == spelling.count,
          spelling.count <= 16 || spelling.equals(column.spelling(candidate.pointee.span))
        {
          return (entry, slot)
        }
      } else if value &>> 48 != generation {
        return (-1, slot)
      }
      slot = (slot &+ 1) & mask
    }
  }

  /// After Wang Yi's wyhash: multiplies words into 128 bits and folds the halves. Up to 16 bytes take
  /// one multiplication and no branch: lengths cannot be guessed.
  @inline(__always)
  private func hash(_ spelling: SpellingView, _ ends: SpellingEnds) -> UInt64 {
    var hash = secondSeed ^ UInt64(truncatingIfNeeded: spelling.count)
    var offset = 8
    while offset &+ 8 < spelling.count {
      hash = fold(spelling.fullWord(at: offset) ^ firstSeed, hash)
      offset &+= 8
    }
    return fold(ends.first ^ firstSeed, ends.last ^ hash)
  }

  @inline(__always)
  private func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right ^ 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }
}
