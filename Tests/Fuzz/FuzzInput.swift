/// Reads the fuzzer's bytes from the beginning; zeros follow them.
struct FuzzInput {
  private(set) var rest: ArraySlice<UInt8>

  init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
    rest = ArraySlice(UnsafeBufferPointer(start: start, count: count))
  }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Little-endian.
  mutating func number(bytes: Int = 2) -> UInt64 {
    (0..<bytes).reduce(0) { $0 | UInt64(byte()) << UInt64(8 * $1) }
  }

  mutating func index(_ bytes: Int = 2) -> Int { Int(truncatingIfNeeded: number(bytes: bytes)) }

  mutating func element<Element>(of list: [Element]) -> Element { list[Int(byte()) % list.count] }

  /// The next bytes, whose number the first of them gives, up to a limit.
  mutating func short(upTo most: Int) -> [UInt8] {
    let count = Int(byte()) % (most + 1)
    return (0..<count).map { _ in byte() }
  }
}

/// Ends the process, so that the fuzzer keeps the input.
func found(_ what: String) -> Never { fatalError("found: \(what)") }
