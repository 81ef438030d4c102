/// How much work encoding may be.
package enum EncodingEffort: Sendable {
  /// For imports: encodings that are found in a pass or two. Text is compressed where it is of few symbols;
  /// elsewhere that alone would take longer than all the rest.
  case fast
  /// For compaction: everything that makes the cluster smaller.
  case thorough

  /// In strings of fewer bytes together, digits are not looked for.
  var smallestDigits: Int {
    switch self {
    case .fast: 1024
    case .thorough: 128
    }
  }

  /// Strings of fewer bytes together are not compressed, but for their digits.
  var smallestCompressed: Int {
    switch self {
    case .fast: .max
    case .thorough: 512
    }
  }
}
