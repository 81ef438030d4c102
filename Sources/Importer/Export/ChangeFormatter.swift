import Base
import Engine

/// Writes the objects of a table that differ in two versions as CSV or JSON Lines, with values as in an
/// export: spellings in CSV, numbers as numbers in JSON.
///
/// Thread rule: one thread at a time.
package struct ChangeFormatter {
  private struct ColumnWriters {
    let name: String
    /// Writes `{"old":…` and `,"new":…`; a column that only one version has has the same form in both.
    let old: FieldWriter
    let new: FieldWriter
    /// `"name":`
    let key: [UInt8]
  }

  private let format: TableExporter.Format
  private let table: String
  private let keys: [FieldWriter]
  private let columns: [ColumnWriters]
  private let output = FormattedBytes()

  /// The header of CSV.
  package static let header = "table,change,key,column,old,new\n"

  /// - Parameter table: the name of the table in the output.
  package init(_ reader: ChangeReader, _ format: TableExporter.Format, table: String) {
    self.format = format
    self.table = table
    // The key of a deleted object may not have the current type of its column.
    keys = reader.keyColumns.map {
      FieldWriter($0, named: "key", keepsOthers: true, isFirst: false)
    }
    columns = reader.columns.compactMap { column in
      guard let old = column.old ?? column.new, let new = column.new ?? column.old else {
        return nil
      }
      var json = JSONWriter()
      json.string(column.name)
      return ColumnWriters(
        name: column.name, old: FieldWriter(old, named: "old", isFirst: true),
        new: FieldWriter(new, named: "new", isFirst: false), key: json.bytes + [0x3A])
    }
  }

  /// The bytes for one object: a line of JSON, or a line of CSV for each field that differs.
  package func bytes(of object: ChangedObject) -> [UInt8] {
    output.removeAll()
    if format == .csv { csv(object) } else { json(object) }
    return Array(output.bytes)
  }

  // MARK: CSV

  private func csv(_ object: ChangedObject) {
    // An object whose fields are all null also gets a line.
    let fields =
      object.kind == .changed
      ? object.fields : object.fields.filter { $0.old != nil || $0.new != nil }
    if fields.isEmpty { csv(object, nil) }
    for field in fields { csv(object, field) }
  }

  private func csv(_ object: ChangedObject, _ field: ChangedObject.Field?) {
    appendCSV(table)
    output.append(0x2C)
    output.append(Array(object.kind.rawValue.utf8))
    output.append(0x2C)
    appendCSVKey(object.key)
    output.append(0x2C)
    if let field {
      let column = columns[field.column]
      appendCSV(column.name)
      output.append(0x2C)
      Self.with(field.old) { column.old.appendCSV($0, to: output) }
      output.append(0x2C)
      Self.with(field.new) { column.new.appendCSV($0, to: output) }
    } else {
      output.append([0x2C, 0x2C])
    }
    output.append(0x0A)
  }

  /// Appends a key; a key of several columns is itself a line of CSV in the field, so that no two keys look
  /// alike.
  private func appendCSVKey(_ parts: [[UInt8]]) {
    if parts.count == 1 { return Self.with(parts[0]) { keys[0].appendCSV($0, to: output) } }
    let line = FormattedBytes()
    for (part, writer) in zip(parts, keys) {
      if !line.bytes.isEmpty { line.append(0x2C) }
      Self.with(part) { writer.appendCSV($0, to: line) }
    }
    Self.with(Array(line.bytes)) { Self.append($0, to: output) }
  }

  /// A text as a field of CSV, quoted if necessary.
  package static func csvField(_ text: String) -> String {
    let output = FormattedBytes()
    with(Array(text.utf8)) { append($0, to: output) }
    return String(decoding: output.bytes, as: UTF8.self)
  }

  private func appendCSV(_ text: String) {
    Self.with(Array(text.utf8)) { Self.append($0, to: output) }
  }

  private static func append(_ field: UnsafeRawBufferPointer?, to output: FormattedBytes) {
    guard let field, let source = field.baseAddress else { return }
    let target = output.reserve(CSVField.mostBytes(field.count))
    output.advance(CSVField.write(source, count: field.count, to: target))
  }

  /// Calls `body` with bytes that are followed by readable bytes; with nil for null.
  private static func with(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
    guard let bytes else { return body(nil) }
    (bytes + Array(repeating: 0, count: ResultWindow.readableBytes)).withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count]))
    }
  }

  // MARK: JSON Lines

  /// Appends a key; a key of several columns is an array.
  private func appendJSONKey(_ parts: [[UInt8]]) {
    if parts.count == 1 { return Self.with(parts[0]) { keys[0].appendJSON($0, to: output) } }
    output.append(Array(",\"key\":".utf8))
    for (index, part) in parts.enumerated() where index < keys.count {
      output.append(index == 0 ? 0x5B : 0x2C)
      Self.with(part) { keys[index].appendValue($0, to: output) }
    }
    output.append(0x5D)
  }

  private func json(_ object: ChangedObject) {
    var begin = JSONWriter()
    begin.beginObject()
    begin.key("table")
    begin.string(table)
    begin.key("change")
    begin.string(object.kind.rawValue)
    output.append(begin.bytes)
    appendJSONKey(object.key)
    output.append(Array((object.kind == .changed ? ",\"columns\":{" : ",\"object\":{").utf8))
    for (index, field) in object.fields.enumerated() {
      if index > 0 { output.append(0x2C) }
      let column = columns[field.column]
      output.append(column.key)
      switch object.kind {
      case .changed:
        Self.with(field.old) { column.old.appendJSON($0, to: output) }
        Self.with(field.new) { column.new.appendJSON($0, to: output) }
        output.append(0x7D)
      case .inserted: Self.with(field.new) { column.new.appendValue($0, to: output) }
      case .deleted: Self.with(field.old) { column.old.appendValue($0, to: output) }
      }
    }
    output.append([0x7D, 0x7D, 0x0A])
  }
}
