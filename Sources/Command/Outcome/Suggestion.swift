/// The name that was most likely meant.
enum Suggestion {
  /// The candidate nearest to `word`, whatever their case, or nil when none is near enough to be
  /// worth offering.
  static func nearest(to word: String, among candidates: [String]) -> String? {
    // Long words are not compared: the cost is the product of the lengths, and typing errors are short.
    guard word.utf8.count <= 64 else { return nil }
    let word = word.lowercased()
    if word.count >= 3 {
      let continued = candidates.filter { $0.lowercased().hasPrefix(word) }
      if continued.count == 1 { return continued[0] }
    }
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance = editDistance(word, candidate.lowercased())
      // Of a name of one letter nothing is left when one is replaced.
      let limit = max(1, min(word.count, candidate.count) / 3)
      guard distance <= limit, distance < max(word.count, candidate.count) else { continue }
      if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// The number of insertions, deletions, substitutions and swaps of neighbours that turn one word into the
  /// other (optimal string alignment).
  static func editDistance(_ first: String, _ second: String) -> Int {
    let (a, b) = (Array(first.utf8), Array(second.utf8))
    var beforePrevious: [Int] = []
    var previous = Array(0...b.count)
    for i in 0..<a.count {
      var current = [i + 1]
      for j in 0..<b.count {
        let substitution = previous[j] + (a[i] == b[j] ? 0 : 1)
        var distance = min(previous[j + 1] + 1, current[j] + 1, substitution)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          distance = min(distance, beforePrevious[j - 1] + 1)
        }
        current.append(distance)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[b.count]
  }

  /// `; did you mean X?` or nothing.
  static func phrase(for word: String, among candidates: [String], prefix: String = "") -> String {
    guard let name = nearest(to: word, among: candidates) else { return "" }
    return "; did you mean \(prefix)\(name)?"
  }
}
