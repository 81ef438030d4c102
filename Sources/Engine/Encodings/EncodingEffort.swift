/// How much work encoding may take.
package enum EncodingEffort: Sendable {
  /// For imports: encodings that are found in a pass or two. Text is compressed only when it has few symbols;
  /// other compression would take longer than everything else.
  case fast
  /// For compaction: everything that makes the cluster smaller.
  case thorough

  /// Strings with fewer bytes in all are not searched for digits.
  var smallestDigits: Int {
    switch self {
    case .fast: 1024
    case .thorough: 128
    }
  }

  /// Strings with fewer bytes in all are not compressed, except as digits.
  var smallestCompressed: Int {
    switch self {
    case .fast: .max
    case .thorough: 512
    }
  }
}
