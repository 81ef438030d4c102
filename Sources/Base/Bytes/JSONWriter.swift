/// Appends JSON text to a byte buffer. Keys stay in the order in which they are written.
///
/// The caller writes the structure (`beginObject`, `key`, values, `end`); this type adds the commas.
///
/// Thread rule: one thread at a time.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  /// For every open object or array: its closing byte, and whether it has an element.
  private var open: [(close: UInt8, hasElement: Bool)] = []
  private var followsKey = false
  /// Returns true for characters beyond ASCII that are escaped although JSON does not require it.
  package var escapes: (@Sendable (Unicode.Scalar) -> Bool)?

  package init() {}

  /// Starts again, keeping the buffer's memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    open.removeAll(keepingCapacity: true)
    followsKey = false
  }

  package mutating func beginObject() {
    separate()
    bytes.append(UInt8(ascii: "{"))
    open.append((UInt8(ascii: "}"), false))
  }

  package mutating func beginArray() {
    separate()
    bytes.append(UInt8(ascii: "["))
    open.append((UInt8(ascii: "]"), false))
  }

  /// Closes the innermost object or array.
  package mutating func end() {
    guard let last = open.popLast() else { return }
    bytes.append(last.close)
  }

  package mutating func key(_ name: String) {
    separate()
    appendQuoted(name.utf8)
    bytes.append(UInt8(ascii: ":"))
    followsKey = true
  }

  package mutating func string(_ text: String) {
    separate()
    appendQuoted(escaped(text).utf8, isEscaped: escapes != nil)
  }

  /// Escapes the characters that `escapes` names, and all that JSON requires to be escaped.
  private func escaped(_ text: String) -> String {
    guard let escapes else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.value > 0x7F, scalar.value < 0x1_0000, escapes(scalar) {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else if scalar == "\\" {
        result += "\\\\"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A string from bytes that are valid UTF-8.
  package mutating func string(utf8: some Collection<UInt8>) {
    separate()
    appendQuoted(utf8)
  }

  package mutating func integer(_ number: some BinaryInteger) {
    separate()
    bytes.append(contentsOf: String(number).utf8)
  }

  /// The shortest text that reads back as the same number; null for infinities and NaN, which JSON lacks.
  package mutating func double(_ number: Double) {
    separate()
    bytes.append(contentsOf: number.isFinite ? number.description.utf8 : "null".utf8)
  }

  package mutating func bool(_ value: Bool) {
    separate()
    bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
  }

  package mutating func null() {
    separate()
    bytes.append(contentsOf: "null".utf8)
  }

  package mutating func newline() {
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func separate() {
    if followsKey {
      followsKey = false
      return
    }
    guard let last = open.indices.last else { return }
    if open[last].hasElement { bytes.append(UInt8(ascii: ",")) }
    open[last].hasElement = true
  }

  /// - Parameter isEscaped: true when backslashes are already escapes.
  private mutating func appendQuoted(_ text: some Collection<UInt8>, isEscaped: Bool = false) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\\") where isEscaped: bytes.append(byte)
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0x0A: bytes.append(contentsOf: "\\n".utf8)
      case 0x0D: bytes.append(contentsOf: "\\r".utf8)
      case 0x09: bytes.append(contentsOf: "\\t".utf8)
      case 0..<0x20, 0x7F:
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(Self.digits[Int(byte >> 4)])
        bytes.append(Self.digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
