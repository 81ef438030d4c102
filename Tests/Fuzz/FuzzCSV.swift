import Importer

/// Any text in any dialect, split anywhere: the fast splitter and parser are compared with the slow,
/// obvious ones.
///
/// The input: nine bytes or a few more for dialect and feed, then the text.
@c(LLVMFuzzerTestOneInput)
public func fuzzCSV(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  // An ambiguous dialect is refused; the corpus has no use for it.
  guard var dialect = try? dialect(&input) else { return -1 }
  let options = input.byte()
  var feed = Feed()
  feed.columnCount = 1 + Int(options & 3)
  feed.ragged = [.reject, .pad, .extend, .extend][Int(options >> 2 & 3)]
  feed.blankLinesAreRecords = options & 16 != 0
  if options & 32 != 0 { dialect.possibleRecordFields = 1 + Int(options >> 6) }
  feed.chunkBytes = input.element(of: [4 << 20, 1, 2, 3, 7, 30, 63, 64, 65, 100, 128, 1000])
  feed.recordLimit = input.element(of: [.max, 1, 2, 3, 7, 64])
  feed.readSizes = input.element(
    of: [[], [1], [2, 1, 63, 3], [64], [65, .max], [7], [Int(options), .max], [3, 5, 1000]])
  feed.dialect = dialect
  let text = Array(input.rest)
  let reference = ReferenceParser(
    text, dialect: dialect, blankLinesAreRecords: feed.blankLinesAreRecords)
  do {
    if let difference = try difference(reference, feed) { found("\(feed): \(difference)") }
  } catch {
    found("\(feed): \(error)")
  }
  return 0
}

private func dialect(_ input: inout FuzzInput) throws -> Dialect {
  let delimiters = [",", ";", "\t", "|", "||", "§", ", ", "a", "", "aab", "😀", " ", "whitespace"]
  var delimiter = Array(input.element(of: delimiters).utf8)
  if delimiter.isEmpty { delimiter = input.short(upTo: 5) }
  let quotes: [UInt8?] = [0x22, 0x27, nil, 0x61, 0x20, 0]
  let quote = input.element(of: quotes)
  let escapes: [UInt8??] = [nil, .some(nil), 0x5C, 0x22, 0x27, 0x61, 0x20, 0]
  let escape = input.element(of: escapes)
  let comments: [[UInt8]?] = [
    nil, [0x23], [0x2F, 0x2F], [0x61], [0x2C], [0xC2, 0xA7], [0x20], [],
  ]
  var comment = input.element(of: comments)
  if comment == [] { comment = input.short(upTo: 5) }
  return try Dialect(delimiter: delimiter, quote: quote, escape: escape, comment: comment)
}
