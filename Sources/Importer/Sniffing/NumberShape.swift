/// A number as people and programs write it, with its surroundings.
///
/// `[sign] [currency] [sign] figures [currency | %]`, or all of it in parentheses. The figures may have one
/// kind of separator between groups of three (two in the Indian way), and a point or a comma before the
/// fraction.
struct NumberShape {
  let shape: CellShape

  /// Nil: it is not a number.
  init?(_ cell: Slice<UnsafeBufferPointer<UInt8>>) {
    var rest = cell
    var isMoney = false
    if rest.first == UInt8(ascii: "("), rest.last == UInt8(ascii: ")") {
      rest = rest.dropFirst().dropLast()
    }
    rest.dropSign()
    if rest.dropCurrency(atEnd: false) {
      isMoney = true
      rest.dropBlanks()
      rest.dropSign()
    }
    var isPercent = false
    if rest.last == UInt8(ascii: "%") {
      isPercent = true
      rest.removeLast()
      rest.dropTrailingBlanks()
    } else if rest.dropCurrency(atEnd: true) {
      isMoney = true
      rest.dropTrailingBlanks()
    }
    if isMoney, rest.last == UInt8(ascii: "-") {
      rest.removeLast()
      if let last = rest.last, last == 0x2E || last == 0x2C { rest.removeLast() }
    }
    guard Self.areFigures(rest) else { return nil }
    shape = isMoney ? .money : isPercent ? .percent : .number
  }

  private static func areFigures(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard cell.allSatisfy(mayBeFigure) else { return false }
    var groups: [Int] = [0]
    var separators: [UInt8] = []
    var index = cell.startIndex
    while index < cell.endIndex {
      let byte = cell[index]
      switch byte {
      case 0x30...0x39: groups[groups.count - 1] += 1
      case 0x2E, 0x2C, 0x20, 0x27:
        separators.append(byte)
        groups.append(0)
      case 0xC2 where index + 1 < cell.endIndex && cell[index + 1] == 0xA0:
        separators.append(0x20)
        groups.append(0)
        index += 1
      case 0x45, 0x65:
        guard groups[0] > 0 || groups.count > 1 else { return false }
        return areGrouped(groups, separators) && isExponent(cell[(index + 1)...])
      default: return false
      }
      if groups.count > 12 { return false }
      index += 1
    }
    return areGrouped(groups, separators)
  }

  /// False for most bytes that are in no number.
  private static func mayBeFigure(_ byte: UInt8) -> Bool {
    // From the apostrophe to the figures lie also the signs, the point and the comma.
    byte &- 0x27 <= 0x12 || byte == 0x20 || byte | 0x20 == 0x65 || byte >= 0x80
  }

  private static func isExponent(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = cell
    rest.dropSign()
    return !rest.isEmpty && rest.count <= 4 && rest.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
  }

  private static func areGrouped(_ groups: [Int], _ separators: [UInt8]) -> Bool {
    guard let first = groups.first, let last = groups.last, let separator = separators.first else {
      return groups[0] > 0
    }
    let isMark = { (byte: UInt8) in byte == 0x2E || byte == 0x2C }
    if separators.count == 1 {
      return isMark(separator)
        ? first + last > 0 : first > 0 && first <= 3 && last == 3
    }
    // The last separator may be the decimal mark, if it differs from the others.
    let hasFraction = isMark(separators[separators.count - 1]) && separators.last != separator
    let marks = hasFraction ? separators.dropLast() : separators[...]
    let thousands = hasFraction ? groups.dropLast() : groups[...]
    return first > 0 && first <= 3 && marks.allSatisfy { $0 == separator }
      && thousands.dropFirst().dropLast().allSatisfy { $0 == 3 || $0 == 2 }
      && thousands.last == 3
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  fileprivate mutating func dropBlanks() {
    while let byte = first, byte == 0x20 { removeFirst() }
  }

  fileprivate mutating func dropTrailingBlanks() {
    while let byte = last, byte == 0x20 { removeLast() }
    while count > 2, self[endIndex - 1] == 0xA0, self[endIndex - 2] == 0xC2 { removeLast(2) }
  }

  fileprivate mutating func dropSign() {
    if first == 0x2B || first == 0x2D {
      removeFirst()
    } else if starts(with: [0xE2, 0x88, 0x92]) {
      removeFirst(3)
    }
    dropBlanks()
  }

  /// Removes a currency's sign or code, with the blanks between it and the number.
  fileprivate mutating func dropCurrency(atEnd: Bool) -> Bool {
    guard let outer = atEnd ? last : first, !(outer >= 0x2B && outer <= 0x39) else { return false }
    guard let currency = atEnd ? Currency.ending(self) : Currency.beginning(self),
      count > currency.count
    else { return false }
    if atEnd {
      removeLast(currency.count)
      dropTrailingBlanks()
    } else {
      removeFirst(currency.count)
    }
    return true
  }
}
