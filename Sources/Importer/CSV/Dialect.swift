/// How an input separates and quotes its fields.
///
/// A quote inside a quoted field is written twice. Record ends are `\n`, `\r\n` and `\r` always.
package struct Dialect: Sendable, Equatable {
  package let delimiter: UInt8
  /// nil: quotes are characters like any other.
  package let quote: UInt8?

  /// Comma and double quote, as RFC 4180 has it.
  package static let rfc4180 = Dialect(uncheckedDelimiter: UInt8(ascii: ","), quote: 0x22)

  /// - Throws: `ImportError.invalidDialect` when delimiter and quote are the same, a record end, or
  ///   not ASCII (a byte of a longer character would cut characters in half).
  package init(
    delimiter: UInt8 = UInt8(ascii: ","), quote: UInt8? = UInt8(ascii: "\"")
  ) throws(ImportError) {
    try Self.check(delimiter, "delimiter")
    if let quote {
      try Self.check(quote, "quote")
      if quote == delimiter {
        throw ImportError.invalidDialect(reason: "the delimiter and the quote are the same")
      }
    }
    self.init(uncheckedDelimiter: delimiter, quote: quote)
  }

  private init(uncheckedDelimiter delimiter: UInt8, quote: UInt8?) {
    self.delimiter = delimiter
    self.quote = quote
  }

  private static func check(_ byte: UInt8, _ role: String) throws(ImportError) {
    if byte == 0x0A || byte == 0x0D {
      throw ImportError.invalidDialect(reason: "the \(role) is a record end")
    }
    if byte >= 0x80 {
      throw ImportError.invalidDialect(reason: "the \(role) is not an ASCII character")
    }
  }
}
