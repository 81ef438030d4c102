/// A column of a table: its name, the type of its values, whether they may be null, and what an object
/// gets there that is added without a value.
///
/// Thread rule: a plain value, `Sendable`.
public struct Column: Sendable, Hashable {
  /// Not empty, and no other column of the table has it.
  public var name: String
  /// How its spellings are read as values.
  public var type: ColumnType
  /// Whether objects may be null there.
  public var isNullable: Bool
  /// What an object gets that is added by the names of columns, or by an import, without this one; null
  /// when nil.
  public var `default`: Value?

  /// - Parameters:
  ///   - name: not empty.
  ///   - type: of its values.
  ///   - nullable: whether objects may be null there.
  ///   - default: what objects get that are added without it; of the type, or nil.
  public init(
    _ name: String, _ type: ColumnType, nullable: Bool = true, default: Value? = nil
  ) {
    self.name = name
    self.type = type
    self.isNullable = nullable
    self.default = `default`
  }

  /// Bytes of a default's spelling: the schema is read whenever a table is opened.
  static let maximumDefaultBytes = 1 << 16

  /// The default, or null.
  package var filling: Value { self.default ?? .null }

  /// Why the column cannot be one, in words; nil when it can.
  var problem: String? {
    if name.isEmpty { return "a column has no name" }
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
