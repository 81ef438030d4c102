/// The first number of a range for which a condition is true; the range's end when it is true for none. If
/// the condition is true for a number, it must be true for all later ones.
///
/// - Complexity: O(log n) calls of the condition.
@inlinable @inline(__always)
package func partitionPoint<Number: FixedWidthInteger, Failure: Error>(
  _ range: Range<Number>, _ isBehind: (Number) throws(Failure) -> Bool
) throws(Failure) -> Number {
  var low = range.lowerBound
  var high = range.upperBound
  while low < high {
    // This sum cannot overflow.
    let middle = low &+ (high &- low) &>> 1
    if try isBehind(middle) { high = middle } else { low = middle &+ 1 }
  }
  return low
}
