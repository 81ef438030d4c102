#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What bytes mean in an encoding that the system's `iconv` knows. glibc loads a module for most of them when
/// they are asked for; where these are not installed, they are not known.
///
/// Thread rule: used by one thread at a time.
package final class CharacterConverter {
  /// What a few bytes are by themselves.
  package enum Meaning: Equatable {
    /// This UTF-8, of one character or of several; empty for what only changes a state.
    case text([UInt8])
    /// The beginning of something longer.
    case beginning
    /// No text.
    case none
  }

  // `iconv_open` says -1 for an error, as a pointer.
  private let handle: iconv_t

  /// - Parameter name: as `iconv -l` has it, in any case; nil where the system does not know it.
  package init?(_ name: String) {
    // What follows a slash says how to write, and an empty name is the encoding of the locale.
    guard !name.isEmpty, name.utf8.count < 64, name.utf8.allSatisfy({ Self.isOfName($0) }),
      let handle = iconv_open("UTF-8", name), Int(bitPattern: handle) != -1
    else { return nil }
    self.handle = handle
  }

  deinit { iconv_close(handle) }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: [0x2D, 0x5F, 0x2E, 0x3A, 0x2B, 0x28, 0x29].contains(byte)
    }
  }

  /// What bytes mean, taken from the start of a text: all of them, or nothing.
  ///
  /// - Parameter bytes: as many as one likes; what is behind the first that is no text is not looked at.
  package func meaning(of bytes: [UInt8]) -> Meaning {
    var input = bytes.map { CChar(bitPattern: $0) }
    var output = [CChar](repeating: 0, count: 16 * bytes.count + 64)
    var (outcome, rest) = (0, 0)
    var written = 0
    var code: Int32 = 0
    input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        var (from, to) = (input.baseAddress, output.baseAddress)
        var (left, room) = (input.count, output.count)
        _ = iconv(handle, nil, nil, nil, nil)
        errno = 0
        // -1 of `size_t`, as which glibc and Darwin say that it has failed.
        outcome = Int(bitPattern: UInt(bitPattern: iconv(handle, &from, &left, &to, &room)))
        code = errno
        rest = left
        // Some encodings hold a character back, for a mark that may follow.
        if outcome != -1 { _ = iconv(handle, nil, nil, &to, &room) }
        written = output.count - room
      }
    }
    if outcome == -1 { return code == EINVAL ? .beginning : .none }
    guard rest == 0 else { return .none }
    return .text(output[..<min(max(0, written), output.count)].map { UInt8(bitPattern: $0) })
  }
}
