import Testing

@testable import Engine

@Suite struct BlockReferenceTests {
  @Test("The place of a block is between the slots and the end, whatever a file says")
  func places() {
    let first = UInt64(Layout.firstBlockOffset)
    let page = UInt64(Layout.pageBytes)
    func pages(_ offset: UInt64, _ length: UInt32, within end: UInt64 = .max) -> Range<Int>? {
      BlockReference(offset: offset, length: length, checksum: 0).pages(within: end)
    }
    let number = Int(first / page)
    #expect(pages(first, 1) == number..<number + 1)
    #expect(pages(first, UInt32(page)) == number..<number + 1)
    #expect(pages(first, UInt32(page) + 1) == number..<number + 2)
    #expect(pages(first + page - 1, 2) == number..<number + 2)
    #expect(pages(first, 0) == nil && pages(first - 1, 1) == nil)
    #expect(pages(first, 2, within: first + 1) == nil)
    for offset in [UInt64(Int.max) - page, UInt64(Int.max) - 1] {
      #expect(pages(offset, 1)?.upperBound == (Int(offset) / Layout.pageBytes) + 1)
    }
    #expect(pages(UInt64(Int.max), 1) == nil && pages(.max, 1) == nil)
  }
}
