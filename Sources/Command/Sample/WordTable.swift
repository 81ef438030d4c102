/// Texts, stored back to back, for appending to a byte buffer without a `String` in between.
struct WordTable: Sendable {
  private let bytes: [UInt8]
  private let starts: [Int]

  init(_ words: [String]) {
    var bytes: [UInt8] = []
    var starts = [0]
    for word in words {
      bytes.append(contentsOf: word.utf8)
      starts.append(bytes.count)
    }
    self.bytes = bytes
    self.starts = starts
  }

  /// The words of a text, separated by spaces and line ends; `_` stands for a space in a word.
  init(text: String) {
    self.init(
      text.split { $0 == " " || $0 == "\n" }.map { word in
        String(word.map { $0 == "_" ? " " : $0 })
      })
  }

  var count: Int { starts.count - 1 }

  func append(_ index: Int, to buffer: inout [UInt8]) {
    buffer.append(contentsOf: bytes[starts[index]..<starts[index + 1]])
  }
}

/// Texts with a weight each.
struct WeightedWords: Sendable {
  private let words: WordTable
  private let weights: WeightTable

  init(_ entries: [(String, Int)]) {
    words = WordTable(entries.map(\.0))
    weights = WeightTable(entries.map(\.1))
  }

  /// The index of the text at a position of the distribution.
  func index(at position: UInt32) -> Int { weights.index(at: position) }

  func append(_ index: Int, to buffer: inout [UInt8]) { words.append(index, to: &buffer) }

  func append(at position: UInt32, to buffer: inout [UInt8]) {
    words.append(weights.index(at: position), to: &buffer)
  }
}
