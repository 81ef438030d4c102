/// Reads single objects, of a version or in a transaction: what live objects read through.
///
/// Goes to an object first, and then gives its values one by one.
package protocol ObjectReading {
  /// The columns that values are asked by place of.
  var shape: RowShape { get }

  /// The key of the object; nil when there is none, or it was not gone to any.
  var key: Int64? { get }

  /// Goes to the object with a key; false when there is none.
  ///
  /// - Throws: `EngineError.damaged`; in a transaction, `.transactionEnded`.
  mutating func go(to key: Int64) throws -> Bool

  /// Goes to the object at a position in the order of keys, from 0; false when there is none.
  ///
  /// - Throws: as `go(to:)`.
  mutating func go(toPosition position: Int) throws -> Bool

  /// How many objects come before the one gone to.
  ///
  /// - Complexity: O(log n) after `go(to:)`, O(1) after `go(toPosition:)`.
  /// - Throws: as `go(to:)`.
  mutating func position() throws -> Int?

  /// A value of the object; null when there is no object.
  ///
  /// - Parameter column: its place in the schema; null where there is none.
  /// - Throws: as `go(to:)`.
  mutating func value(_ column: Int) throws -> Value

  /// Calls `body` with the bytes of a value; nil when it is null.
  ///
  /// - Throws: as `go(to:)`, and what `body` throws.
  mutating func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result

  /// All values of the object; nil when there is no object.
  ///
  /// - Throws: as `go(to:)`.
  mutating func row() throws -> Row?
}
