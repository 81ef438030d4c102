import Engine

/// A file that is not CSV, recognized by its beginning: its kind, and advice.
struct OtherFormat: Sendable, Equatable {
  /// The name with its article, such as `a PDF document`.
  let name: String
  let advice: String
  /// Whether a CSV file might begin like this; `--delimiter` then declares that it is one.
  var mayBeText = false

  /// The format of an input, by its first bytes; nil when it is unknown, so that the input may be CSV.
  static func of(_ bytes: [UInt8]) -> OtherFormat? {
    if bytes.starts(with: "PK".utf8), bytes.count > 3,
      [[3, 4], [5, 6]].contains(Array(bytes[2..<4]))
    {
      return archive(bytes)
    }
    if let known = beginnings.first(where: { bytes.starts(with: $0.bytes) }),
      known.name == pdf || hasControls(bytes)
    {
      return OtherFormat(name: known.name, advice: known.advice)
    }
    if bytes.count > 262, bytes[257..<262].elementsEqual("ustar".utf8) {
      return OtherFormat(name: "a tar archive", advice: "unpack it first")
    }
    return markup(bytes)
  }

  /// Whether the beginning has characters that no text has. A column may be called `PAR1`.
  private static func hasControls(_ bytes: [UInt8]) -> Bool {
    bytes.prefix(64).contains { $0 < 0x20 && ![0x09, 0x0A, 0x0D].contains($0) }
  }

  private static let pdf = "a PDF document"
  private static let exported = "export its rows as CSV first"

  private static let beginnings: [(bytes: [UInt8], name: String, advice: String)] = [
    (Array("PAR1".utf8), "a Parquet file", "convert it first, for example with 'duckdb -csv'"),
    (Array("ORC".utf8) + [0x08], "an ORC file", exported),
    (Array("ORC".utf8) + [0x0A], "an ORC file", exported),
    (Array("ARROW1".utf8), "an Arrow file", exported),
    (Array("FEA1".utf8), "a Feather file", exported),
    (Array("Obj".utf8) + [0x01], "an Avro file", exported),
    (
      Array("SQLite format 3".utf8) + [0], "an SQLite database",
      "export a table first: sqlite3 -header -csv FILE 'SELECT * FROM TABLE'"
    ),
    (
      CommitSlot.magic, "a Sheaf database",
      "export a table first: sheaf export FILE --output CSV, or to a server at once: "
        + "sheaf export FILE --into postgresql://HOST/DATABASE"
    ),
    (Array("%PDF-".utf8), pdf, "ask for the data as CSV"),
    (
      [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], "an old Excel or other Office file (.xls)",
      "save its sheet as CSV first"
    ),
    ([0x89, 0x48, 0x44, 0x46], "an HDF5 file", exported),
    ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "a 7z archive", "unpack it first"),
    (Array("Rar!".utf8) + [0x1A], "a RAR archive", "unpack it first"),
  ]

  /// Spreadsheets are ZIP archives that contain files of certain names.
  private static func archive(_ bytes: [UInt8]) -> OtherFormat {
    let names = bytes.prefix(4096)
    func has(_ name: String) -> Bool {
      let wanted = Array(name.utf8)
      return names.indices.contains { names[$0...].starts(with: wanted) }
    }
    if has("xl/") || has("[Content_Types].xml") {
      return OtherFormat(
        name: "an Excel file or another of Office (.xlsx)", advice: "save its sheet as CSV first")
    }
    if has("opendocument.spreadsheet") {
      return OtherFormat(
        name: "an OpenDocument spreadsheet (.ods)", advice: "save its sheet as CSV first")
    }
    return OtherFormat(name: "a ZIP archive", advice: "unpack it first")
  }

  /// Text that is JSON, HTML or XML.
  private static func markup(_ bytes: [UInt8]) -> OtherFormat? {
    let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    let text = bytes.drop(while: isBlank)
    let beginning = String(decoding: text.prefix(14), as: UTF8.self).lowercased()
    if beginning.hasPrefix("<!doctype html") || beginning.hasPrefix("<html") {
      return OtherFormat(
        name: "an HTML page", advice: "see whether the download needs a login or another address",
        mayBeText: true)
    }
    if beginning.hasPrefix("<?xml") {
      return OtherFormat(name: "XML", advice: "convert it to CSV first", mayBeText: true)
    }
    let json = "convert it first, for example with 'jq -r', or say --delimiter if it is CSV"
    if text.first == 0x5B {
      let element = text.dropFirst().drop(while: isBlank)
      guard element.first == 0x7B, element.dropFirst().drop(while: isBlank).first == 0x22 else {
        return nil
      }
      return OtherFormat(name: "a JSON array", advice: json, mayBeText: true)
    }
    guard text.first == 0x7B, text.dropFirst().drop(while: isBlank).first == 0x22 else {
      return nil
    }
    let line = text.prefix { $0 != 0x0A && $0 != 0x0D }
    // One JSON object per line, or one over many lines.
    guard line.last == 0x7D && line.contains(0x3A) || text.dropFirst().first.map(isBlank) ?? false
    else {
      return nil
    }
    return OtherFormat(name: "JSON", advice: json, mayBeText: true)
  }
}
