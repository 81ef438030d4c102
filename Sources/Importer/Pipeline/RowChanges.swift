import Engine

/// Objects' new values, gathered while the present ones are read, then written together.
struct RowChanges {
  private var objects: [Int64] = []
  private var arena: [UInt8] = []
  /// One for each of the table's columns, object by object.
  private var spans: [TextSpan] = []

  var byteCount: Int { arena.count }

  /// What becomes of an object's columns that the input does not have.
  enum OtherColumns {
    case kept
    /// They get these spellings; nil: null.
    case replaced(by: [[UInt8]?])

    var areKept: Bool {
      if case .kept = self { return true }
      return false
    }
  }

  /// Compares a row with an object, and takes its values if they differ.
  ///
  /// - Parameters:
  ///   - fields: the row, whose offsets count from the start of `memory`.
  ///   - positions: where each of the table's columns lies in the row.
  ///   - others: what becomes of columns that the row does not have.
  ///   - inputColumns: those from here on take surplus fields.
  ///   - present: the object, with all columns of the table.
  /// - Returns: whether anything differs.
  mutating func add(
    _ fields: ArraySlice<TextSpan>, _ memory: UnsafeRawBufferPointer, _ positions: [Int?],
    others: OtherColumns, inputColumns: Int, of object: Int64, _ present: ObjectFields?
  ) throws -> Bool {
    guard let present else {
      throw EngineError.invalidArgument("object \(object) of the key is not there")
    }
    func with<Result>(
      _ column: Int, _ body: (_ bytes: UnsafeRawBufferPointer?, _ isKept: Bool) throws -> Result
    ) rethrows -> Result {
      guard let position = positions[column] else {
        guard case .replaced(let defaults) = others else { return try body(nil, true) }
        guard let spelling = defaults[column] else { return try body(nil, false) }
        return try spelling.withUnsafeBytes { try body($0, false) }
      }
      let span = fields[fields.startIndex + position]
      // A record without a surplus field says nothing about its column.
      if span.isNull { return try body(nil, others.areKept && position >= inputColumns) }
      let start = Int(span.offset)
      return try body(
        UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)]), false)
    }
    var isChanged = false
    for column in positions.indices where !isChanged {
      isChanged = with(column) { bytes, isKept in
        !isKept && !Self.areEqual(present.field(column), bytes)
      }
    }
    guard isChanged else { return false }
    objects.append(object)
    for column in positions.indices {
      try with(column) { bytes, isKept in
        try append(isKept ? present.field(column) : bytes)
      }
    }
    return true
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer?) throws {
    guard let bytes else { return spans.append(.null) }
    guard let offset = UInt32(exactly: arena.count), offset != .max else {
      throw EngineError.tooLarge(what: "an object's values together", limit: "4 GB")
    }
    spans.append(TextSpan(offset: offset, length: UInt32(clamping: bytes.count)))
    arena.append(contentsOf: bytes)
  }

  private static func areEqual(_ left: UnsafeRawBufferPointer?, _ right: UnsafeRawBufferPointer?)
    -> Bool
  {
    guard let left, let right else { return left == nil && right == nil }
    return TableEditor.areEqual(left, right)
  }

  /// Writes the gathered values, and forgets them.
  mutating func write(_ editor: TableEditor) throws {
    guard !objects.isEmpty else { return }
    let width = spans.count / objects.count
    try arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        guard let first = spans.baseAddress else { return }
        for (index, object) in objects.enumerated() {
          // Without a byte nothing is read: any address does.
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
