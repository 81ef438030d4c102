import Base

/// The values in the dictionaries of one column's leaves, each once: shared values stay in the processor's
/// caches, and text that is too long for a `String`'s inline storage is allocated once.
///
/// Unsafe for speed: reads of values are unchecked; only `number` returns their numbers.
///
/// Thread rule: confined.
final class ValuePool {
  let reading: Reading
  /// The address never changes.
  let values: UnsafeMutablePointer<Value>
  private var count = 1
  private var numbers: [UInt64: Int] = [:]
  private var isRefusing = false

  /// More values are not pooled.
  private static let capacity = 4096
  /// The number of null.
  static let null = 0

  init(_ reading: Reading) {
    self.reading = reading
    values = .allocate(capacity: Self.capacity)
    values.initialize(to: .null)
  }

  deinit {
    values.deinitialize(count: count)
    values.deallocate()
  }

  /// The number of a spelling's value; nil when the pool is full or the spelling does not fit the type.
  func number(_ spelling: UnsafeRawBufferPointer) -> Int? {
    let hash = Checksum.of(spelling)
    if let known = numbers[hash] { return isValue(known, spelling) ? known : nil }
    guard count < Self.capacity, let value = Value(spelling: spelling, as: reading) else {
      return nil
    }
    (values + count).initialize(to: value)
    numbers[hash] = count
    count += 1
    return count - 1
  }

  /// True when the spelling is that of the numbered value.
  private func isValue(_ number: Int, _ spelling: UnsafeRawBufferPointer) -> Bool {
    guard case .text(let text) = values[number] else {
      return Value(spelling: spelling, as: reading) == values[number]
    }
    return text.utf8.withContiguousStorageIfAvailable {
      Bytes.areEqual(UnsafeRawBufferPointer($0), spelling)
    } ?? text.utf8.elementsEqual(spelling)
  }

  /// The numbers of many spellings, some of which may be nil. Nil when too many are new and unlikely to occur
  /// again: the pool then adds no more in this way.
  func numbers(_ spellings: DecodedColumn) -> [UInt16]? {
    if isRefusing { return nil }
    var found: [UInt16] = []
    found.reserveCapacity(spellings.count)
    let before = count
    for index in 0..<spellings.count {
      guard let spelling = spellings[index] else {
        found.append(UInt16(Self.null))
        continue
      }
      guard let number = number(spelling), count - before <= max(spellings.count / 2, 16) else {
        isRefusing = true
        return nil
      }
      found.append(UInt16(truncatingIfNeeded: number))
    }
    return found
  }
}

/// The pools of a file's columns.
///
/// Thread rule: confined.
final class ValuePools {
  /// The reading is part of the key, because it determines the values. Columns of two tables may share a
  /// pool.
  private struct Key: Hashable {
    let columnID: UInt32
    let reading: Reading
  }

  private var pools: [Key: ValuePool] = [:]

  func pool(_ columnID: UInt32, _ reading: Reading) -> ValuePool {
    let key = Key(columnID: columnID, reading: reading)
    if let pool = pools[key] { return pool }
    let pool = ValuePool(reading)
    pools[key] = pool
    return pool
  }
}
