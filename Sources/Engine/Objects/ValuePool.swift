import Base

/// The values of one column that were met in the dictionaries of its leaves, each once: what many leaves
/// share stays in the processor's caches, and text too long for a `String`'s own room is made once.
///
/// Unsafe for speed: the values are read without a check; numbers come from `number` alone.
///
/// Thread rule: confined.
final class ValuePool {
  let reading: Reading
  /// Never moves.
  let values: UnsafeMutablePointer<Value>
  private var count = 1
  private var numbers: [UInt64: Int] = [:]
  private var isRefusing = false

  /// Beyond so many, values are left where they are.
  private static let capacity = 4096
  /// Of null.
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

  /// The number of a spelling's value; nil when there is no more room, or it is not of the type.
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

  /// True when the value with that number is the spelling's.
  private func isValue(_ number: Int, _ spelling: UnsafeRawBufferPointer) -> Bool {
    guard case .text(let text) = values[number] else {
      return Value(spelling: spelling, as: reading) == values[number]
    }
    return text.utf8.withContiguousStorageIfAvailable {
      Bytes.areEqual(UnsafeRawBufferPointer($0), spelling)
    } ?? text.utf8.elementsEqual(spelling)
  }

  /// The numbers of many spellings, nil among them; nil when too many of them are new, so that they
  /// are hardly met again: the pool then takes no more in this way.
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
  /// How a column is read is a share of what its values mean. Columns of two tables may share a pool.
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
