import Testing

/// Records an issue unless the fast and the slow way agree.
func expectAgreement(
  _ reference: ReferenceParser, _ feed: Feed, seed: UInt64? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  guard let found = try difference(reference, feed) else { return }
  let text = String(decoding: reference.bytes, as: UTF8.self).debugDescription
  let origin = seed.map { "seed \($0), " } ?? ""
  Issue.record("\(origin)\(feed): \(found), in \(text)", sourceLocation: sourceLocation)
}
