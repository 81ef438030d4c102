import Engine

/// New values of objects, collected while the current ones are read, then written together.
struct RowChanges {
  private var objects: [Int64] = []
  private var arena: [UInt8] = []
  /// One span for each of the table's columns, object by object.
  private var spans: [TextSpan] = []

  var byteCount: Int { arena.count }

  /// The relation of a row to the object with its key.
  enum Meeting {
    case changes
    case isSame
    /// The row would change the object, but is not newer.
    case isOlder
  }

  /// Compares a row with an object, and collects its values if they differ.
  ///
  /// - Parameters:
  ///   - fields: the row, whose offsets are relative to the start of `memory`.
  ///   - present: the object, with all columns of the table.
  mutating func add(
    _ fields: ArraySlice<TextSpan>, _ memory: UnsafeRawBufferPointer, _ rule: ReplacementRule,
    of object: Int64, _ present: ObjectFields?
  ) throws -> Meeting {
    guard let present else {
      throw EngineError.invalidArgument("object \(object) of the key is not there")
    }
    let columns = rule.positions.indices
    guard columns.contains(where: { rule.changes(present.field($0), $0, fields, memory) }) else {
      return .isSame
    }
    guard rule.isNewer(fields, memory, than: present.field) else { return .isOlder }
    objects.append(object)
    for column in columns {
      try rule.withValue(column, fields, memory) { bytes, isKept in
        try append(isKept ? present.field(column) : bytes)
      }
    }
    return .changes
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer?) throws {
    guard let bytes else { return spans.append(.null) }
    guard let offset = UInt32(exactly: arena.count), offset != .max else {
      throw EngineError.tooLarge(what: "an object's values together", limit: "4 GB")
    }
    spans.append(TextSpan(offset: offset, length: UInt32(clamping: bytes.count)))
    arena.append(contentsOf: bytes)
  }

  /// Writes the collected values, and drops them.
  mutating func write(_ editor: TableEditor) throws {
    guard !objects.isEmpty else { return }
    let width = spans.count / objects.count
    try arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        guard let first = spans.baseAddress else { return }
        for (index, object) in objects.enumerated() {
          // Without bytes nothing is read: any address is valid.
          try editor.replace(
            object, base: arena.baseAddress ?? UnsafeRawPointer(first),
            row: first + index * width, keepsPrimaryKey: true)
        }
      }
    }
    objects.removeAll(keepingCapacity: true)
    arena.removeAll(keepingCapacity: true)
    spans.removeAll(keepingCapacity: true)
  }
}
