import Engine

/// Prints rows as a table for people: aligned columns, numbers to the right.
///
/// Widths come from the first thousand rows; later rows are printed as they come. On a terminal cells are
/// cut, with `…`, so that a row stays one line. Null is `∅`, which differs from an empty text and from the
/// text `null`.
///
/// Thread rule: one thread at a time. `end` prints the remaining rows.
final class TextTable {
  private let output: BufferedOutput
  private let columns: [Column]
  /// Columns of the terminal; nil when cells are never cut.
  private let terminalWidth: Int?
  private let isRich: Bool
  private var sample: [[String?]] = []
  private var widths: [Int]?

  private static let sampleRows = 1000
  private static let gap = 2
  /// Columns are not cut below this width, even if lines get longer than the terminal is wide.
  private static let minimumWidth = 6
  static let null = "∅"

  init(_ columns: [Column], _ output: BufferedOutput, terminalWidth: Int?, isRich: Bool) {
    self.columns = columns
    self.output = output
    self.terminalWidth = terminalWidth
    self.isRich = isRich
  }

  /// A row; nil is null.
  func add(_ cells: [String?]) throws {
    guard let widths else {
      sample.append(cells)
      if sample.count == Self.sampleRows { try begin() }
      return
    }
    try output.write(line(cells, widths))
  }

  func end() throws {
    if widths == nil { try begin() }
  }

  /// A field as a cell.
  static func cell(_ field: UnsafeRawBufferPointer?, _ type: ColumnType) -> String? {
    guard let field else { return nil }
    if type == .data { return HumanFormat.count(field.count, "byte", "bytes") }
    return StandardError.escaped(String(decoding: field, as: UTF8.self))
  }

  private func begin() throws {
    let names = columns.map { StandardError.escaped($0.name) }
    var widths = names.map { DisplayWidth.of($0) }
    for row in sample {
      for (index, cell) in row.enumerated() {
        widths[index] = max(widths[index], DisplayWidth.of(cell ?? Self.null))
      }
    }
    fit(&widths)
    self.widths = widths
    let header = line(names, widths)
    try output.write(isRich ? "\u{1B}[1m\(header.dropLast())\u{1B}[0m\n" : header)
    try output.write(line(widths.map { String(repeating: "─", count: $0) }, widths))
    for row in sample { try output.write(line(row, widths)) }
    sample = []
  }

  /// Takes from the widest columns until all fit.
  private func fit(_ widths: inout [Int]) {
    guard let terminalWidth else { return }
    let room = terminalWidth - Self.gap * (widths.count - 1)
    var limit = widths.max() ?? 0
    while limit > Self.minimumWidth, widths.reduce(0, { $0 + min($1, limit) }) > room {
      limit -= 1
    }
    widths = widths.map { min($0, limit) }
  }

  private func line(_ cells: [String?], _ widths: [Int]) -> String {
    var line = ""
    // Spaces at the end of a line are not printed.
    var spaces = 0
    for (index, cell) in cells.enumerated() {
      if index > 0 { spaces += Self.gap }
      var text = cell ?? Self.null
      if terminalWidth != nil { text = DisplayWidth.cut(text, to: widths[index]) }
      let missing = max(0, widths[index] - DisplayWidth.of(text))
      if cell == nil, isRich { text = "\u{1B}[2m\(text)\u{1B}[0m" }
      let isNumber = [.int, .double, .decimal].contains(columns[index].type)
      if isNumber { spaces += missing }
      line += String(repeating: " ", count: text.isEmpty ? 0 : spaces) + text
      if !text.isEmpty { spaces = 0 }
      if !isNumber { spaces += missing }
    }
    return line + "\n"
  }
}
