/// A value that does not fit the new type of its column.
///
/// Thread rule: a plain value, `Sendable`.
public struct Misfit: Sendable, Equatable {
  /// The object's key.
  public let key: Int64
  /// Its position in the order of keys, from 0.
  public let row: Int
  /// The spelling of the value; bytes that are not UTF-8 are replaced.
  public let value: String
}
