/// Paths as text. A path is bytes. Bytes that are not UTF-8 are represented by characters from the end of
/// Unicode, U+10FF00 plus the byte, so that a file of any name can be named, opened and reported.
///
/// Thread rule: plain functions.
package enum PathText {
  private static let plane: UInt32 = 0x10_FF00
  private static let stands: ClosedRange<UInt32> = 0x10_FF80...0x10_FFFF

  /// The text of a path from the system. Characters that already represent bytes are encoded byte by byte, so
  /// that nothing is lost.
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    var text = ""
    var parser = Unicode.UTF8.ForwardParser()
    var input = bytes.makeIterator()
    var place = bytes.startIndex
    while true {
      let count: Int
      switch parser.parseScalar(from: &input) {
      case .emptyInput: return text
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        count = encoded.count
        if !stands.contains(scalar.value) {
          text.unicodeScalars.append(scalar)
          bytes.formIndex(&place, offsetBy: count)
          continue
        }
      case .error(let length): count = length
      }
      for _ in 0..<count {
        if let scalar = Unicode.Scalar(plane + UInt32(bytes[place])) {
          text.unicodeScalars.append(scalar)
        }
        bytes.formIndex(after: &place)
      }
    }
  }

  /// The text of a path that ends with a zero byte.
  package static func text(_ pointer: UnsafePointer<CChar>) -> String {
    var count = 0
    while pointer[count] != 0 { count += 1 }
    return pointer.withMemoryRebound(to: UInt8.self, capacity: count) {
      text(UnsafeBufferPointer(start: $0, count: count))
    }
  }

  /// The bytes of the path.
  package static func bytes(_ text: String) -> [UInt8] {
    guard hasBytes(text) else { return Array(text.utf8) }
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      if stands.contains(scalar.value) {
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      } else {
        bytes += UTF8.encode(scalar).map { Array($0) } ?? []
      }
    }
    return bytes
  }

  /// Returns whether some characters represent bytes that are not text.
  package static func hasBytes(_ text: String) -> Bool {
    // The UTF-8 of each such character begins with this byte.
    text.utf8.contains(0xF4) && text.unicodeScalars.contains { stands.contains($0.value) }
  }

  /// The byte that a character represents; nil for any other character.
  package static func byte(_ scalar: Unicode.Scalar) -> UInt8? {
    stands.contains(scalar.value) ? UInt8(truncatingIfNeeded: scalar.value) : nil
  }

  /// The path for people: `caf\xE9.csv`.
  package static func shown(_ text: String) -> String {
    guard hasBytes(text) else { return text }
    var shown = ""
    for scalar in text.unicodeScalars {
      if let byte = byte(scalar) {
        shown += "\\x" + String(byte, radix: 16, uppercase: true)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }
}

extension System {
  /// A path in the form for the system's functions.
  static func native(_ path: String) -> [CChar] {
    PathText.bytes(path).map { CChar(bitPattern: $0) } + [0]
  }
}
