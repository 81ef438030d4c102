import Base
import Engine

/// Prints what has changed in tables, in one of the formats.
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
      isSummary ? "table,inserted,deleted,changed\n" : "table,change,key,column,old,new\n")
  }

  func end() throws { try text?.end() }

  /// - Parameters:
  ///   - old: nil for a table that was created.
  ///   - new: nil for one that was deleted.
  func print(_ name: String, _ old: Table?, _ new: Table?, _ filter: Predicate?) throws {
    if isSummary { return try printCounts(name, old, new, filter) }
    if let old, let new {
      try new.forEachChange(since: old, where: filter) { change in
        try print(name, change.kind, new.keyColumn ?? old.keyColumn, change)
      }
    } else if let table = new ?? old {
      let kind: ObjectStep.Kind = new == nil ? .deleted : .inserted
      var query = Query()
      query.filter = filter
      try query.forEachRow(in: table) { row in
        try print(
          name, kind, table.keyColumn,
          ObjectStep(kind: kind, object: row, properties: []))
      }
    }
  }

  private func printCounts(
    _ name: String, _ old: Table?, _ new: Table?, _ filter: Predicate?
  ) throws {
    var counts: [ObjectStep.Kind: Int] = [:]
    if let old, let new {
      counts = try new.changeCounts(since: old, where: filter)
    } else if let table = new ?? old {
      var query = Query()
      query.filter = filter
      counts[new == nil ? .deleted : .inserted] = try query.count(in: table)
    }
    let numbers = [.inserted, .deleted, .changed].map { counts[$0] ?? 0 }
    switch format {
    case .table: try text?.add([StandardError.escaped(name)] + numbers.map { "\($0)" })
    case .csv:
      try output.write(
        Self.field(name) + "," + numbers.map { "\($0)" }.joined(separator: ",") + "\n")
    case .jsonl:
      let json: JSONValue = [
        "table": .string(name), "inserted": .int(numbers[0]), "deleted": .int(numbers[1]),
        "changed": .int(numbers[2]),
      ]
      try output.write(json.line)
    }
  }

  private func print(
    _ table: String, _ kind: ObjectStep.Kind, _ keyColumn: String?, _ change: ObjectStep
  ) throws {
    let key = keyColumn.flatMap { change.object[$0] } ?? .int(change.object.key)
    if format == .jsonl { return try printJSON(table, key, change) }
    var cells: [(column: String, old: Value, new: Value)] = []
    if kind == .changed {
      cells = change.properties.map { ($0.name, $0.old, $0.new) }
    } else {
      for (name, value) in zip(change.object.columnNames, change.object.values)
      where value != .null {
        cells.append(
          kind == .inserted ? (name, .null, value) : (name, value, .null))
      }
    }
    // An object of nothing but nulls is one, too.
    if cells.isEmpty { cells = [("", .null, .null)] }
    for cell in cells {
      if let text {
        try text.add([
          StandardError.escaped(table), kind.rawValue, Self.shown(key),
          StandardError.escaped(cell.column), Self.shown(cell.old), Self.shown(cell.new),
        ])
      } else {
        let fields = [
          Self.field(table), kind.rawValue, Self.field(key), Self.field(cell.column),
          Self.field(cell.old), Self.field(cell.new),
        ]
        try output.write(fields.joined(separator: ",") + "\n")
      }
    }
  }

  private func printJSON(_ table: String, _ key: Value, _ change: ObjectStep) throws {
    var members: [JSONValue.Member] = [
      .init(key: "table", value: .string(table)),
      .init(key: "change", value: .string(change.kind.rawValue)),
      .init(key: "key", value: Self.json(key)),
    ]
    if change.kind == .changed {
      members.append(
        .init(
          key: "columns",
          value: .object(
            change.properties.map {
              .init(key: $0.name, value: ["old": Self.json($0.old), "new": Self.json($0.new)])
            })))
    } else {
      members.append(
        .init(
          key: "object",
          value: .object(
            zip(change.object.columnNames, change.object.values).map {
              .init(key: $0, value: Self.json($1))
            })))
    }
    try output.write(JSONValue.object(members).line)
  }

  // MARK: Values

  private static func text(_ value: Value) -> String {
    if case .data(let bytes) = value { return bytes.map { hex($0) }.joined() }
    return String(decoding: value.spelling, as: UTF8.self)
  }

  private static func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private static func shown(_ value: Value) -> String? {
    value == .null ? nil : StandardError.escaped(text(value))
  }

  private static func field(_ value: Value) -> String {
    value == .null ? "" : field(text(value))
  }

  /// As RFC 4180 has it: an empty text in quotes.
  private static func field(_ text: String) -> String {
    guard text.isEmpty || text.contains(where: { ",\"\n\r\r\n".contains($0) }) else { return text }
    return "\""
      + text.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"") + "\""
  }

  private static func json(_ value: Value) -> JSONValue {
    switch value {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let number): .int(Int(number))
    case .double(let number) where number.isFinite: .double(number)
    default: .string(text(value))
    }
  }
}
