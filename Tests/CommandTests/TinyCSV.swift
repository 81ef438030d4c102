/// RFC 4180, read byte by byte: slow, strict, obvious, and independent of the importer.
enum TinyCSV {
  /// The records, or nil when the text is malformed: a stray or open quote, or no last line end.
  static func records(_ bytes: [UInt8]) -> [[[UInt8]]]? {
    let (quote, comma, newline) = (UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\n"))
    var records: [[[UInt8]]] = []
    var record: [[UInt8]] = []
    var field: [UInt8] = []
    var at = 0
    while at < bytes.count {
      if bytes[at] == quote {
        guard field.isEmpty else { return nil }
        at += 1
        while true {
          guard at < bytes.count else { return nil }
          if bytes[at] == quote {
            at += 1
            guard at < bytes.count, bytes[at] == quote else { break }
          }
          field.append(bytes[at])
          at += 1
        }
        guard at < bytes.count, bytes[at] == comma || bytes[at] == newline else { return nil }
      }
      switch bytes[at] {
      case comma:
        record.append(field)
        field = []
      case newline:
        records.append(record + [field])
        record = []
        field = []
      default: field.append(bytes[at])
      }
      at += 1
    }
    return record.isEmpty && field.isEmpty ? records : nil
  }
}
