/// How much work encoding may be.
package enum EncodingEffort: Sendable {
  /// For imports: encodings that are found in a pass or two.
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

  var symbolLimits: SymbolTrainer.Limits {
    switch self {
    case .fast: .fast
    case .thorough: .thorough
    }
  }
}
