/// The objects that have the keys of an import's records: a bit for each, in pages, so that a table of any
/// size and age takes little memory.
///
/// Thread rule: confined to the writer's thread.
final class SeenObjects {
  /// By the objects' numbers, 65,536 to a page.
  private var pages: [Int64: [UInt64]] = [:]
  /// The last page used, which is not in `pages` meanwhile.
  private var number: Int64 = -1
  private var page: [UInt64] = []

  private static let pageWords = 1 << 10

  /// The number of pages, of 8 KiB each.
  var pageCount: Int { pages.count + (number >= 0 ? 1 : 0) }

  /// - Parameter object: the object's number; negative for none.
  func insert(_ object: Int64) {
    if object < 0 { return }
    turn(to: object >> 16)
    page[Int(object >> 6 & 1023)] |= 1 << UInt64(object & 63)
  }

  func contains(_ object: Int64) -> Bool {
    // To ask makes no page: most objects of a large table may be in none.
    guard object >= 0, object >> 16 == number || pages[object >> 16] != nil else { return false }
    turn(to: object >> 16)
    return page[Int(object >> 6 & 1023)] >> UInt64(object & 63) & 1 != 0
  }

  private func turn(to wanted: Int64) {
    if wanted == number { return }
    if number >= 0 { pages[number] = page }
    page = pages.removeValue(forKey: wanted) ?? [UInt64](repeating: 0, count: Self.pageWords)
    number = wanted
  }
}
