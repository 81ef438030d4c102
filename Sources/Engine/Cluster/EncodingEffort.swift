/// How much work encoding may be.
package enum EncodingEffort: Sendable {
  /// For imports: encodings that are found in a pass or two. Text is not compressed: that alone would
  /// take longer than all the rest.
  case fast
  /// For compaction: everything that makes the cluster smaller.
  case thorough

  /// Strings of fewer bytes together are not compressed.
  var smallestCompressed: Int {
    switch self {
    case .fast: .max
    case .thorough: 512
    }
  }
}
