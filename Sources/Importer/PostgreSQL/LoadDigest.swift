/// The digests of the options with which an input is loaded, as they lie in a server's checkpoint tables.
struct LoadDigest: Sendable {
  /// Of all that decides how a record is loaded: an import with another one cannot resume.
  let whole: String
  /// `OptionsDigest.given`; nil if an older version of Sheaf has stored it.
  let given: Int?

  init(whole: String, given: Int?) { (self.whole, self.given) = (whole, given) }

  /// Nil for an empty text.
  init?(_ text: String) {
    let parts = text.split(separator: "-", maxSplits: 1)
    guard let first = parts.first else { return nil }
    whole = String(first)
    given = parts.count > 1 ? Int(parts[1], radix: 16) : nil
  }

  var text: String { given.map { "\(whole)-\(String($0, radix: 16))" } ?? whole }
}
