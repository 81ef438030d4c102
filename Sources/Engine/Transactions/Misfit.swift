/// A value that is not of the new type of its column.
///
/// Thread rule: a plain value, `Sendable`.
public struct Misfit: Sendable, Equatable {
  /// The object's key.
  public let key: Int64
  /// Its position in the order of keys, from 0.
  public let row: Int
  /// The value's spelling; bytes that are not UTF-8 are replaced.
  public let value: String
}
