import Base

/// Strings in a segment, uncompressed or compressed:
///
///     table     `SymbolTable` or `DigitTable`, if compressed; the first byte says which
///     strings   `PackedStrings`, of the strings or of their codes
struct StoredStrings {
  let symbols: SymbolTable?
  let digits: DigitTable?
  /// With `digits` its spans count codes, not bytes.
  let packed: PackedStrings

  init(
    _ reader: inout ByteReader, count: Int, areCompressed: Bool
  ) throws(DecodingFailure) {
    var ahead = reader
    if areCompressed, DigitTable.isWidth(try ahead.read(UInt8.self, "the width of codes")) {
      let table = try DigitTable(&reader)
      (symbols, digits) = (nil, table)
      packed = try PackedStrings(&reader, count: count, bits: table.bits)
      return
    }
    digits = nil
    symbols = areCompressed ? try SymbolTable(&reader) : nil
    packed = try PackedStrings(&reader, count: count)
  }

  var areCompressed: Bool { symbols != nil || digits != nil }

  var count: Int { packed.count }

  /// Calls `use` with the bytes of string `index`.
  ///
  /// - Precondition: 0 <= `index` < `count`.
  @inline(__always)
  func withBytes<Result, Failure: Error>(
    _ index: Int, _ use: (UnsafeRawBufferPointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if let digits { return try digits.withBytes(packed.base, packed.span(index), use) }
    guard let symbols else { return try use(packed.bytes(index)) }
    let codes = packed.bytes(index)
    // Every symbol is stored as a word, so the last one may reach 16 bytes further.
    let room = UnsafeMutableRawPointer.allocate(
      byteCount: symbols.room(codes) &+ 16, alignment: 8)
    defer { room.deallocate() }
    let count = symbols.decode(codes, to: room)
    return try use(UnsafeRawBufferPointer(start: room, count: count))
  }

  /// The first contradiction in the bytes; nil when everything is consistent.
  func inconsistency() -> String? {
    if let problem = packed.inconsistency() { return problem }
    if let digits {
      return digits.areCodes(packed.base, count: packed.total)
        ? nil : "the strings have codes without a symbol"
    }
    guard let symbols else { return nil }
    var decoder = SymbolDecoder()
    decoder.load(symbols)
    for index in 0..<count where !decoder.areCodes(packed.bytes(index), of: symbols) {
      return "string \(index) has codes without a symbol"
    }
    return nil
  }
}
