/// A value that is none of a type which its column was to have.
///
/// Thread rule: a plain value, `Sendable`.
public struct Misfit: Sendable, Equatable {
  /// The object's key.
  public let key: Int64
  /// Its position in the order of keys, from 0.
  public let row: Int
  /// The value, as it is spelled; what is not UTF-8 is replaced.
  public let value: String
}
