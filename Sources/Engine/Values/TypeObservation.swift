/// The smallest classes that spellings fall in, as a set.
package struct TypeSet: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  @inlinable
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `true` or `false`.
  package static let bool = TypeSet(rawValue: 1 << 0)
  /// An integer that a double holds exactly (magnitude up to 2^53).
  package static let int = TypeSet(rawValue: 1 << 1)
  /// Any other 64-bit integer.
  package static let bigInt = TypeSet(rawValue: 1 << 2)
  /// A number of at most 17 significant digits that is not a 64-bit integer, one of more digits that are
  /// exactly a double's (`1.000000000000000000e+00`), or `NaN` or `nan`.
  package static let double = TypeSet(rawValue: 1 << 3)
  /// A number of more than 17 significant digits that are not just a double's, an infinity, or a whole number
  /// with a point behind it. It is a double only in a column that was declared so, since it may be an
  /// identifier, a name, or the number of a list's item.
  package static let longDecimal = TypeSet(rawValue: 1 << 4)
  package static let date = TypeSet(rawValue: 1 << 5)
  package static let dateTime = TypeSet(rawValue: 1 << 6)
  /// Anything else, including the empty string.
  package static let text = TypeSet(rawValue: 1 << 7)

  /// The class of a spelling, as a set with one member.
  package static func of(_ spelling: UnsafeRawBufferPointer) -> TypeSet {
    SpellingClass.classify(SpellingView(spelling))
  }

  /// The narrowest type that keeps every spelling seen. A mixture is text, except integers with doubles
  /// (unless an integer is too large for a double), and days with moments. Nil when nothing was seen.
  package var inferredType: ColumnType? {
    if isEmpty { return nil }
    if self == .bool { return .bool }
    if isSubset(of: [.int, .bigInt]) { return .int }
    if isSubset(of: [.int, .double]) { return .double }
    if self == .date { return .date }
    if isSubset(of: [.date, .dateTime]) { return .dateTime }
    return .text
  }

  /// The classes whose spellings a column of that type reads as values.
  package static func accepted(by type: ColumnType) -> TypeSet {
    switch type {
    case .int: [.int, .bigInt]
    case .double: [.int, .bigInt, .double, .longDecimal]
    case .bool: .bool
    case .date: .date
    case .dateTime: [.date, .dateTime]
    // These types have no class: each spelling must be read.
    case .time, .decimal, .uuid: []
    case .text, .data: TypeSet(rawValue: .max)
    }
  }

  /// True when a column of that type reads every spelling seen. (Text also requires valid UTF-8, which is not
  /// checked here.)
  package func fits(_ type: ColumnType) -> Bool { isSubset(of: Self.accepted(by: type)) }
}

/// Which classes the spellings of a column have, and for each class the row where it was first seen.
package struct TypeObservation: Sendable, Equatable {
  package private(set) var classes: TypeSet = []
  /// Indexed by the bit number of the class; `UInt32.max` where it was not seen.
  private var rows = SIMD8<UInt32>(repeating: .max)

  package init() {}

  /// Notes a spelling of one class.
  @inline(__always)
  package mutating func insert(_ type: TypeSet, row: Int) {
    classes.formUnion(type)
    let bit = type.rawValue.trailingZeroBitCount & 7
    rows[bit] = min(rows[bit], UInt32(truncatingIfNeeded: row))
  }

  /// The first row of a class; nil when none was seen.
  package func firstRow(of type: TypeSet) -> Int? {
    let row = rows[type.rawValue.trailingZeroBitCount & 7]
    return row == .max ? nil : Int(row)
  }
}
