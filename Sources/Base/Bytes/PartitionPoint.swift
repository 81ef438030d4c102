/// The first number of a range for which a condition holds; the range's end when it holds for none. Where the
/// condition holds for a number, it must hold for all later ones too.
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
