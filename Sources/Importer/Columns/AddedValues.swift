import Base
import Engine

/// The columns that the records of one input get in addition to their fields: see `AddedColumn`.
struct AddedValues: Sendable, Equatable {
  /// The template of a column's values, with the parts that are the same for the whole input filled in.
  struct Template: Sendable, Equatable {
    enum Part: Sendable, Equatable {
      case text([UInt8])
      case line, record
    }

    let name: String
    let parts: [Part]

    /// The value of every record; nil when it is not constant.
    var constant: [UInt8]? {
      if parts.isEmpty { return [] }
      guard parts.count == 1, case .text(let text) = parts[0] else { return nil }
      return text
    }

    /// An upper bound for the length of a value.
    var longest: Int {
      parts.reduce(0) { sum, part in
        if case .text(let text) = part { return sum + text.count }
        return sum + Self.longestNumber
      }
    }

    private static let longestNumber = 20

    func append(record: Int, line: Int, to bytes: inout [UInt8]) {
      for part in parts {
        switch part {
        case .text(let text): bytes += text
        case .line: bytes += String(line).utf8
        case .record: bytes += String(record).utf8
        }
      }
    }

    /// The values of the first records.
    var sample: [[UInt8]] {
      var value: [UInt8] = []
      append(record: 1, line: 2, to: &value)
      return value.isEmpty ? [] : [value]
    }
  }

  let columns: [Template]

  var names: [String] { columns.map(\.name) }

  /// - Parameters:
  ///   - path: the input's path as given; `-` for standard input.
  ///   - taken: the names of the input's own columns in the table.
  /// - Throws: `ImportError.invalidOption` when a name is taken.
  init(_ options: ImportOptions, path: String, taken: [String]) throws(ImportError) {
    let shown = PathText.shown(path)
    let name = System.name(of: shown)
    var columns = options.addedColumns.map { column in
      Template(name: column.name, parts: Self.parts(column, path: shown, name: name, options.begun))
    }
    if options.takesFolderColumns { columns += Self.folderColumns(shown) }
    var seen = Set(taken)
    for column in columns where !seen.insert(column.name).inserted {
      throw .invalidOption(
        "the column '\(column.name)' that is to be added to '\(shown)' is there already: give it another "
          + "name, or the input's own with --rename")
    }
    guard columns.reduce(0, { $0 + $1.longest }) <= Self.mostBytes else {
      throw .invalidOption(
        "the columns that are to be added take more than \(Self.mostBytes) bytes for a record of '\(shown)'"
      )
    }
    self.columns = columns
  }

  /// The maximum bytes of a record's added values: a chunk has up to 1,024 records in memory.
  private static let mostBytes = 1 << 16

  private static func parts(
    _ column: AddedColumn, path: String, name: String, _ now: String
  ) -> [Template.Part] {
    var parts: [Template.Part] = []
    for part in column.parts {
      let text: String
      switch part {
      case .text(let given): text = given
      case .path: text = path
      case .name: text = name
      case .now: text = now
      case .line:
        parts.append(.line)
        continue
      case .record:
        parts.append(.record)
        continue
      }
      if case .text(let before)? = parts.last {
        parts[parts.count - 1] = .text(before + Array(text.utf8))
      } else {
        parts.append(.text(Array(text.utf8)))
      }
    }
    return parts
  }

  // MARK: Folders

  /// Hive's spelling of null.
  private static let noValue = "__HIVE_DEFAULT_PARTITION__"

  /// The columns for folders such as `region=eu/`.
  private static func folderColumns(_ path: String) -> [Template] {
    path.utf8.split(separator: UInt8(ascii: "/")).dropLast().compactMap { folder in
      guard let mark = folder.firstIndex(of: UInt8(ascii: "=")), mark > folder.startIndex else {
        return nil
      }
      let value = unescaped(folder[folder.index(after: mark)...])
      let isNull = value.isEmpty || value == Array(noValue.utf8)
      let name = String(decoding: unescaped(folder[..<mark]), as: UTF8.self)
      return Template(name: name, parts: isNull ? [] : [.text(value)])
    }
  }

  /// Decodes `%3A` to a colon, and other characters that the name of a folder may not contain.
  private static func unescaped(_ text: Substring.UTF8View) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      // Not the sign that a number may begin with.
      if byte == 0x25, rest.count >= 2, rest.prefix(2).allSatisfy(isHexadecimal),
        let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(escaped)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    // Bytes that are not text keep their encoded form.
    return String(validating: bytes, as: UTF8.self) == nil ? Array(text) : bytes
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}
