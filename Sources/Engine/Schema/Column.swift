/// A column of a table: its name, the type of its values, whether they may be null, and the default for
/// objects that are added without a value.
///
/// Thread rule: a plain value, `Sendable`.
public struct Column: Sendable, Hashable {
  /// Not empty, and no other column of the table has it.
  public var name: String
  /// How its spellings are read as values.
  public var type: ColumnType
  /// Whether its values may be null.
  public var isNullable: Bool
  /// The value of objects that are added by the names of columns, or by an import, without this one; nil
  /// means null.
  public var `default`: Value?
  /// How its values are spelled; nil: as `Value.init(spelling:type:)` says.
  public var notation: Notation?

  /// - Parameters:
  ///   - name: not empty.
  ///   - type: of its values.
  ///   - nullable: whether its values may be null.
  ///   - default: the value of objects that are added without one; of the type, or nil.
  ///   - notation: how its values are spelled, where that is not the canonical way; of the type, or nil.
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

  /// The most bytes of a default's spelling: the schema is read whenever a table is opened.
  static let maximumDefaultBytes = 1 << 16

  var withoutNotation: Column {
    var column = self
    column.notation = nil
    return column
  }

  /// How its spellings are read.
  package var reading: Reading { Reading(type, notation) }

  /// A value as the column keeps it; see `Notation.stored`.
  func stored(_ value: Value) -> Value { notation?.stored(value) ?? value }

  /// The default, or null.
  package var filling: Value { self.default ?? .null }

  /// Why this is not a possible column, in words; nil when it is.
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

  /// The column as a schema keeps it: null is no default, and the default is of the column's type.
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
  /// The value as it is spelled, for messages.
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
