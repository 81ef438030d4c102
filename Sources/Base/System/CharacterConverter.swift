#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Decodes bytes in an encoding of the system's `iconv`. glibc loads a module for most encodings on demand;
/// without the module it lacks the encoding.
///
/// Thread rule: used by one thread at a time.
package final class CharacterConverter {
  /// The meaning of a few bytes alone.
  package enum Meaning: Equatable {
    /// This UTF-8, of one or more characters; empty for bytes that only change a state.
    case text([UInt8])
    /// The beginning of a longer sequence.
    case beginning
    /// Not text.
    case none
  }

  // `iconv_open` returns -1, as a pointer, for an error.
  private let handle: iconv_t

  /// - Parameter name: a name from `iconv -l`, in any case. Returns nil when the system lacks it.
  package init?(_ name: String) {
    // A slash begins options of the conversion, and the empty name is the locale's encoding; both are
    // rejected.
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

  /// Decodes bytes from the start of a text, all of them or none.
  ///
  /// - Parameter bytes: any number; the call stops at the first that is not text.
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
        // -1 as a `size_t`, by which glibc and Darwin report failure.
        outcome = Int(bitPattern: UInt(bitPattern: iconv(handle, &from, &left, &to, &room)))
        code = errno
        rest = left
        // Some encodings hold a character back, because a combining mark may follow.
        if outcome != -1 { _ = iconv(handle, nil, nil, &to, &room) }
        written = output.count - room
      }
    }
    if outcome == -1 { return code == EINVAL ? .beginning : .none }
    guard rest == 0 else { return .none }
    return .text(output[..<min(max(0, written), output.count)].map { UInt8(bitPattern: $0) })
  }
}
