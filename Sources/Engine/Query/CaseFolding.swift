/// Text without case, in every language, independent of the locale.
///
/// Each scalar is replaced by the lower case of its upper case, by Unicode's mappings, so `Σ`, `σ` and `ς`
/// are one letter, and `ß` and `ẞ` are `ss`. ASCII is folded byte by byte.
enum CaseFolding {
  static func fold(_ text: String) -> [UInt8] {
    var folded: [UInt8] = []
    Array(text.utf8).withUnsafeBytes { fold($0, into: &folded) }
    return folded
  }

  /// Replaces `folded` by the folded text.
  static func fold(_ text: UnsafeRawBufferPointer, into folded: inout [UInt8]) {
    folded.removeAll(keepingCapacity: true)
    for byte in text {
      if byte >= 0x80 {
        foldScalars(text, into: &folded)
        return
      }
      folded.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
    }
  }

  private static func foldScalars(_ text: UnsafeRawBufferPointer, into folded: inout [UInt8]) {
    folded.removeAll(keepingCapacity: true)
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      append(scalar, to: &folded)
    }
  }

  /// Replaces `folded` by the folded text, and returns where each scalar of the text ends in it.
  static func foldScalars(
    _ text: UnsafeRawBufferPointer, endingAt folded: inout [UInt8]
  ) -> [Int] {
    folded.removeAll(keepingCapacity: true)
    return String(decoding: text, as: UTF8.self).unicodeScalars.map { scalar in
      append(scalar, to: &folded)
      return folded.count
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to folded: inout [UInt8]) {
    if scalar.isASCII {
      let byte = UInt8(truncatingIfNeeded: scalar.value)
      folded.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
      return
    }
    // It is its own upper case, and its lower case is `ß`.
    let upper = scalar == "\u{1E9E}" ? "SS" : scalar.properties.uppercaseMapping
    for scalar in upper.unicodeScalars {
      folded.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
    }
  }
}
