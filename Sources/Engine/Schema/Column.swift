/// A column of a table: its name, the type of its values, whether they may be null, and the default for
/// objects that are added without a value.
///
/// Thread rule: a plain value, `Sendable`.
public struct Column: Sendable, Hashable {
  /// The name: not empty, and unique in the table.
  public var name: String
  /// The type as which its spellings are read.
  public var type: ColumnType
  /// Whether its values may be null.
  public var isNullable: Bool
  /// The value of objects that are added without this column, by column names or by an import; nil for null.
  public var `default`: Value?
  /// How its values are spelled; nil for the spellings of `Value.init(spelling:type:)`.
  public var notation: Notation?

  /// - Parameters:
  ///   - name: the name, not empty.
  ///   - type: the type of its values.
  ///   - nullable: whether its values may be null.
  ///   - default: the value of objects that are added without one, of the column's type; nil for null.
  ///   - notation: how its values are spelled, for the column's type; nil for the canonical spelling.
  public init(
    _ name: String, _ type: ColumnType, nullable: Bool = true, default: Value? = nil,
    notation: Notation? = nil
  ) {
    self.name = name
    self.type = type
    self.isNullable = nullable
    self.default = `default`
    self.notation = notation
  }

  /// The maximum bytes of a default's spelling, as the schema is read whenever a table is opened.
  static let maximumDefaultBytes = 1 << 16

  var withoutNotation: Column {
    var column = self
    column.notation = nil
    return column
  }

  /// How its spellings are read.
  package var reading: Reading { Reading(type, notation) }

  /// A value in the form that the column stores; see `Notation.stored`.
  func stored(_ value: Value) -> Value { notation?.stored(value) ?? value }

  /// The default, or null.
  package var filling: Value { self.default ?? .null }

  /// Why the column is invalid, in words; nil when it is valid.
  var problem: String? {
    if name.isEmpty { return "a column has no name" }
    if let notation, notation.type != type {
      return "the notation of column '\(name)' is for \(notation.type.name), not \(type.name)"
    }
    guard let value = self.default, value != .null else { return nil }
    guard value.fits(type) else {
      return "the default of column '\(name)', \(value.described), is not \(type.article)"
    }
    guard value.spelling.count <= Self.maximumDefaultBytes else {
      return "the default of column '\(name)' is longer than \(Self.maximumDefaultBytes) bytes"
    }
    return nil
  }

  /// The column as stored in a schema: null is not a default, and the default has the column's type.
  var normal: Column {
    var column = self
    if column.default == .null { column.default = nil }
    column.default = column.default?.converted(to: type) ?? column.default
    return column
  }

  /// The type with null and default, for messages.
  var described: String {
    let value = self.default.map { ", \($0.described) by default" } ?? ""
    return "\(type.name)\(isNullable ? "" : ", never null")\(value)"
  }
}

extension Value {
  /// The value's spelling, for messages.
  var described: String {
    switch self {
    case .null: "null"
    case .text(let text): "'\(text.prefix(40))'"
    case .data(let bytes): "\(bytes.count) bytes"
    default: String(decoding: spelling, as: UTF8.self)
    }
  }
}

extension ColumnType {
  /// The type with its article, for messages.
  package var article: String { self == .int ? "an int" : "a \(name)" }
}

extension Column {
  /// The name, or with `_2`, `_3` and so on the first that is not taken.
  package static func unused(_ name: String, _ taken: Set<String>) -> String {
    var (unused, suffix) = (name, 2)
    while taken.contains(unused) {
      unused = "\(name)_\(suffix)"
      suffix += 1
    }
    return unused
  }
}
