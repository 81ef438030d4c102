import Base
import Engine
import Importer

/// Prints the changes of tables, in one of the formats.
struct DiffPrinter {
  enum Format: String, Sendable, CaseIterable {
    case table, csv, jsonl
  }

  private let format: Format
  private let isSummary: Bool
  private let output: BufferedOutput
  private let text: TextTable?

  init(_ format: Format, isSummary: Bool, _ output: BufferedOutput) {
    self.format = format
    self.isSummary = isSummary
    self.output = output
    let columns =
      isSummary
      ? [
        Column("table", .text), Column("inserted", .int), Column("deleted", .int),
        Column("changed", .int),
      ]
      : ["table", "change", "key", "column", "old", "new"].map { Column($0, .text) }
    text =
      format != .table
      ? nil
      : TextTable(
        columns, output, terminalWidth: System.terminalColumns(1),
        isRich: TerminalPolicy.standardOutput.isRich)
  }

  func begin() throws {
    guard format == .csv else { return }
    try output.write(
      isSummary ? "table,inserted,deleted,changed\n" : ChangeFormatter.header)
  }

  func end() throws { try text?.end() }

  /// - Parameters:
  ///   - old: nil for a table that was created.
  ///   - new: nil for one that was deleted.
  func print(_ name: String, _ old: Table?, _ new: Table?, _ filter: Predicate?) throws {
    if isSummary { return try printCounts(name, old, new, filter) }
    let reader = ChangeReader(from: old, to: new, where: filter)
    guard let format = TableExporter.Format(rawValue: format.rawValue) else {
      return try reader.run { try add($0, reader, name) }
    }
    let formatter = ChangeFormatter(reader, format, table: name)
    try reader.run { try output.write(formatter.bytes(of: $0)) }
  }

  /// A line of the table for each field that differs.
  private func add(_ object: ChangedObject, _ reader: ChangeReader, _ name: String) throws {
    let fields =
      object.kind == .changed
      ? object.fields : object.fields.filter { $0.old != nil || $0.new != nil }
    let start = [
      StandardError.escaped(name), object.kind.rawValue,
      zip(object.key, reader.keyColumns).compactMap { Self.cell($0, $1) }.joined(separator: ", "),
    ]
    // An object whose fields are all null gets a line too.
    if fields.isEmpty { try text?.add(start + ["", nil, nil]) }
    for field in fields {
      let column = reader.columns[field.column]
      try text?.add(
        start + [
          StandardError.escaped(column.name), Self.cell(field.old, column.old),
          Self.cell(field.new, column.new),
        ])
    }
  }

  private static func cell(_ bytes: [UInt8]?, _ column: Column?) -> String? {
    guard let bytes, let column else { return nil }
    return bytes.withUnsafeBytes { TextTable.cell($0, column.type) }
  }

  private func printCounts(
    _ name: String, _ old: Table?, _ new: Table?, _ filter: Predicate?
  ) throws {
    let counts = try ChangeReader(from: old, to: new, where: filter).counts()
    let numbers = [.inserted, .deleted, .changed].map { counts[$0] ?? 0 }
    switch format {
    case .table: try text?.add([StandardError.escaped(name)] + numbers.map { "\($0)" })
    case .csv:
      try output.write(
        ChangeFormatter.csvField(name) + "," + numbers.map { "\($0)" }.joined(separator: ",") + "\n"
      )
    case .jsonl:
      let json: JSONValue = [
        "table": .string(name), "inserted": .int(numbers[0]), "deleted": .int(numbers[1]),
        "changed": .int(numbers[2]),
      ]
      try output.write(json.line)
    }
  }
}
