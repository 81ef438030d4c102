/// Splits and searches texts at ASCII signs, scalar by scalar.
///
/// A `Character` combines a sign with a following combining mark: in `"a'\u{301}"` no `Character` is a quote,
/// but a shell, a server and a file see one. Code that quotes a text, or parses a quoted one, therefore reads
/// scalars. Every call costs O(text).
extension StringProtocol {
  /// The parts between the signs: one more than there are signs, including empty ones.
  package func parts(at sign: Unicode.Scalar) -> [String] {
    unicodeScalars.split(separator: sign, omittingEmptySubsequences: false)
      .map { String(String.UnicodeScalarView($0)) }
  }

  /// The text with each of the signs replaced.
  package func replacing(sign: Unicode.Scalar, with replacement: String) -> String {
    parts(at: sign).joined(separator: replacement)
  }

  /// Returns whether the sign is anywhere in the text.
  package func contains(sign: Unicode.Scalar) -> Bool { unicodeScalars.contains(sign) }

  /// Returns whether the text begins with the sign.
  package func begins(withSign sign: Unicode.Scalar) -> Bool { unicodeScalars.first == sign }
}
