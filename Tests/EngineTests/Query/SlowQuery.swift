@testable import Engine

/// The slow, obvious twin of queries: one row at a time, by its values.
enum SlowQuery {
  /// True, false, or nil for unknown.
  static func matches(_ predicate: Predicate, _ row: Row) -> Bool? {
    switch predicate {
    case .not(let part): return matches(part, row).map { !$0 }
    case .all(let parts):
      let answers = parts.map { matches($0, row) }
      return answers.contains(false) ? false : answers.contains(nil) ? nil : true
    case .any(let parts):
      let answers = parts.map { matches($0, row) }
      return answers.contains(true) ? true : answers.contains(nil) ? nil : false
    case .test(let test): return matches(test, row[test.column] ?? .null)
    }
  }

  private static func matches(_ test: ColumnTest, _ value: Value) -> Bool? {
    if case .isNull = test.question { return value == .null }
    if value == .null { return nil }
    if case .double(let double) = value {
      if case .isNaN = test.question { return double.isNaN }
      if double.isNaN { return nil }
    }
    func ordered(_ literal: Value) -> Int { compare(value, literal, test.ignoresCase) }
    func scalars(_ text: String) -> [Unicode.Scalar] {
      test.ignoresCase ? fold(text) : Array(text.unicodeScalars)
    }
    var text: [Unicode.Scalar] = []
    if case .text(let string) = value { text = scalars(string) }
    switch test.question {
    case .isNull, .isNaN: return false
    case .isTrue: return value == .bool(true)
    case .compare(let comparison, let literal):
      let order = ordered(literal)
      switch comparison {
      case .equal: return order == 0
      case .notEqual: return order != 0
      case .less: return order < 0
      case .lessOrEqual: return order <= 0
      case .greater: return order > 0
      case .greaterOrEqual: return order >= 0
      }
    case .isBetween(let low, let high): return ordered(low) >= 0 && ordered(high) <= 0
    case .isIn(let values):
      if values.contains(where: { $0 != .null && ordered($0) == 0 }) { return true }
      return values.contains(.null) ? nil : false
    case .contains(let part):
      let part = scalars(part)
      return (0...text.count).contains { text[$0...].starts(with: part) }
    case .beginsWith(let part): return text.starts(with: scalars(part))
    case .endsWith(let part): return text.reversed().starts(with: scalars(part).reversed())
    case .isLike(let pattern, let escape):
      // A scalar of the value may be several without case; `_` matches it, or the rest of it.
      var ends: [Int] = []
      if case .text(let string) = value {
        for scalar in string.unicodeScalars {
          ends.append((ends.last ?? 0) + scalars(String(scalar)).count)
        }
      }
      return isLike(text, ends, elements(pattern, escape, test.ignoresCase))
    }
  }

  private static func fold(_ text: String) -> [Unicode.Scalar] {
    text.unicodeScalars.flatMap { scalar in
      if scalar == "ẞ" { return Array("ss".unicodeScalars) }
      return scalar.properties.uppercaseMapping.unicodeScalars.flatMap {
        Array($0.properties.lowercaseMapping.unicodeScalars)
      }
    }
  }

  private enum LikeElement: Equatable { case any, one, scalar(Unicode.Scalar) }

  private static func elements(
    _ pattern: String, _ escape: Unicode.Scalar?, _ ignoresCase: Bool
  ) -> [LikeElement] {
    var elements: [LikeElement] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if !isEscaped, scalar == escape {
        isEscaped = true
      } else {
        if !isEscaped, scalar == "%" {
          elements.append(.any)
        } else if !isEscaped, scalar == "_" {
          elements.append(.one)
        } else {
          let text = String(scalar)
          elements += (ignoresCase ? fold(text) : [scalar]).map { .scalar($0) }
        }
        isEscaped = false
      }
    }
    return elements
  }

  /// For every beginning of the text, whether the beginning of the pattern matches it, one element
  /// after the other.
  private static func isLike(
    _ text: [Unicode.Scalar], _ ends: [Int], _ pattern: [LikeElement]
  ) -> Bool {
    var reached = [Bool](repeating: false, count: text.count + 1)
    reached[0] = true
    for element in pattern {
      var next = [Bool](repeating: false, count: text.count + 1)
      if element == .any {
        next[0] = reached[0]
        for end in text.indices { next[end + 1] = next[end] || reached[end + 1] }
      } else {
        for end in text.indices where reached[end] {
          if element == .one, let after = ends.first(where: { $0 > end }) {
            next[after] = true
          } else if element == .scalar(text[end]) {
            next[end + 1] = true
          }
        }
      }
      reached = next
    }
    return reached[text.count]
  }

  /// Compares a value and a literal of comparable kinds.
  private static func compare(_ value: Value, _ literal: Value, _ ignoresCase: Bool) -> Int {
    switch (value, literal) {
    case (.int(let int), .int(let other)): return order(int, other)
    case (.int(let int), .double(let other)): return compare(int, other)
    case (.double(let double), .int(let other)): return -compare(other, double)
    case (.double(let double), .double(let other)): return order(double, other)
    case (.int(let int), .decimal(let other)):
      return SlowDecimal.compare(int.description, other.description)
    // Columns of doubles compare with the double nearest to a decimal with a fraction.
    case (.double(let double), .decimal(let other)):
      if other.scale > 0 || double.isInfinite { return order(double, other.double) }
      let isWhole = double == double.rounded() && double.magnitude < 1e38
      return SlowDecimal.compare(
        isWhole ? Int128(double).description : double.description, other.description)
    case (.bool(let bool), .bool(let other)): return (bool ? 1 : 0) - (other ? 1 : 0)
    case (.date(let date), .date(let other)): return order(date, other)
    case (.dateTime(let moment), .dateTime(let other)): return order(moment, other)
    case (.time(let time), .time(let other)): return order(time, other)
    case (.uuid(let id), .uuid(let other)):
      return id.description == other.description ? 0 : id.description < other.description ? -1 : 1
    case (.uuid, .text(let text)):
      return Value(spelling: text, type: .uuid).map { compare(value, $0, false) } ?? 0
    case (.decimal(let decimal), .decimal(let other)):
      return SlowDecimal.compare(decimal.description, other.description)
    case (.decimal(let decimal), .int(let other)):
      return SlowDecimal.compare(decimal.description, other.description)
    case (.decimal(let decimal), .double(let other)):
      if other.isInfinite { return other > 0 ? -1 : 1 }
      return SlowDecimal.compare(decimal.description, other.description)
    case (.decimal(let decimal), .text(let other)):
      return SlowDecimal.compare(decimal.description, other)
    case (.time, .text(let text)):
      return Value(spelling: text, type: .time).map { compare(value, $0, false) } ?? 0
    case (.date, .text(let text)):
      return Value(spelling: text, type: .date).map { compare(value, $0, false) } ?? 0
    case (.dateTime, .text(let text)):
      let whole = text.count == 10 ? text + "T00:00:00Z" : text
      return Value(spelling: whole, type: .dateTime).map { compare(value, $0, false) } ?? 0
    case (.text(let text), .text(let other)):
      let one = ignoresCase ? fold(text) : Array(text.unicodeScalars)
      let two = ignoresCase ? fold(other) : Array(other.unicodeScalars)
      return one == two ? 0 : one.lexicographicallyPrecedes(two) ? -1 : 1
    case (.data(let one), .data(let two)):
      return one == two ? 0 : one.lexicographicallyPrecedes(two) ? -1 : 1
    default: return 0
    }
  }

  private static func order<Element: Comparable>(_ one: Element, _ other: Element) -> Int {
    one == other ? 0 : one < other ? -1 : 1
  }

  /// Compares exactly: whole parts first, then fractions.
  private static func compare(_ int: Int64, _ double: Double) -> Int {
    if double >= 0x1p63 { return -1 }
    if double < -0x1p63 { return 1 }
    let whole = double.rounded(.down)
    let order = order(int, Int64(whole))
    return order == 0 && double > whole ? -1 : order
  }

  // MARK: Order and equality

  /// NaN and null are behind all others in either direction.
  static func compare(_ one: Row, _ other: Row, _ orders: [SortOrder]) -> Int {
    for order in orders {
      let (left, right) = (one[order.column] ?? .null, other[order.column] ?? .null)
      let ranks = (rank(left), rank(right))
      if ranks.0 != ranks.1 { return ranks.0 - ranks.1 }
      if ranks.0 > 0 { continue }
      let result = compare(left, right, false)
      if result != 0 { return order.isDescending ? -result : result }
    }
    return 0
  }

  private static func rank(_ value: Value) -> Int {
    if value == .null { return 2 }
    if case .double(let double) = value, double.isNaN { return 1 }
    return 0
  }

  static func areEqual(_ one: Row, _ other: Row, _ columns: [String]) -> Bool {
    compare(one, other, columns.map { .ascending($0) }) == 0
  }
}
