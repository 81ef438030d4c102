/// Text without case, in every language, independent of the locale.
///
/// Each scalar is replaced by the lower case of its upper case, by Unicode's mappings, so `Σ`, `σ` and `ς`
/// are one letter and `ß` is `ss`. ASCII is folded byte by byte.
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
      if scalar.isASCII {
        let byte = UInt8(truncatingIfNeeded: scalar.value)
        folded.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
        continue
      }
      for upper in scalar.properties.uppercaseMapping.unicodeScalars {
        folded.append(contentsOf: upper.properties.lowercaseMapping.utf8)
      }
    }
  }
}
