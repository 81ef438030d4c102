import Engine

/// Which records are rejected, and why.
extension ImportPlan {
  /// True when some spelling is null.
  var hasNulls: Bool { !nulls.isEmpty || columns.contains { $0.missing != nil } }

  /// True when values of a query are spelled anew.
  var respells: Bool { columns.contains { $0.spelling != nil } }

  /// Returns whether a column of the key was given another type than text.
  func isTyped(key column: Int) -> Bool {
    guard let type = columns[column].strictType else { return false }
    return type != .text && type != .data
  }

  /// The first of some rows whose value in a column of the key is not how a key is spelled; nil when there is
  /// none.
  ///
  /// - Parameter span: the place of a row's value in the chunk's memory.
  func firstUnfitKey(
    _ key: Int, rowCount: Int, _ chunk: Chunk, _ span: (Int) -> TextSpan
  ) -> Int? {
    chunk.withMemory { memory in
      (0..<rowCount).first { row in
        let span = span(row)
        guard !span.isNull, span.length > 0 else { return false }
        let start = Int(span.offset)
        let field = UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)])
        return KeySpelling.isUnfit(field, columns[key].strictType)
      }
    }
  }

  /// The rule that rejects a row; nil when there is none.
  ///
  /// - Parameters:
  ///   - row: the fields, as many as there are columns.
  ///   - base: the beginning of the chunk's memory.
  ///   - room: memory for the tests, reused between rows.
  func rule(
    refusing row: UnsafePointer<TextSpan>, _ base: UnsafeRawPointer, room: inout [UInt8]
  ) -> PlannedRule? {
    rules.first { rule in
      rule.refusal.matches(room: &room) { column in
        row[column].isNull ? nil : row[column].bytes(from: base)
      }
    }
  }

  /// The reject for a record that a rule refuses.
  func reject(
    _ record: Int, _ parsed: ParsedChunk, _ chunk: Chunk, by rule: PlannedRule
  ) -> Reject {
    reject(
      record, parsed, chunk, .null, nil, nil,
      "the record does not pass --check '\(rule.expression)'")
  }

  /// Returns whether a field is neither null nor a value of its column's type.
  func isMisread(_ span: TextSpan, _ index: Int, _ parsed: ParsedChunk) -> Bool {
    guard let type = columns[index].strictType, let bytes = parsed.text(span) else { return false }
    let reading = Reading(type, columns[index].strictNotation)
    return bytes.withUnsafeBytes { Value(spelling: $0, as: reading) } == nil
  }

  private func keyPart(_ index: Int) -> String {
    (keyColumns.count > 1 ? "the key's column" : "the key") + " '\(columns[index].name)'"
  }

  /// Why a field does not fit its column; nil when it does.
  func misfit(_ span: TextSpan, _ index: Int, _ parsed: ParsedChunk)
    -> (value: String?, reason: String)?
  {
    let column = columns[index]
    let isKey = keyColumns.contains(index)
    if isKey, span.length == 0 { return (span.isNull ? nil : "", "\(keyPart(index)) is empty") }
    guard let bytes = parsed.text(span) else {
      return column.isNullable ? nil : (nil, "null where column '\(column.name)' allows none")
    }
    let text = String(decoding: bytes.prefix(200), as: UTF8.self)
    if isKey, isTyped(key: index),
      bytes.withUnsafeBytes({ KeySpelling.isUnfit($0, column.strictType) })
    {
      let reason =
        bytes.withUnsafeBytes(\.hasBlanksAround)
        ? "has blanks around it, and keys are compared as they are spelled; --trim removes them"
        : "is not spelled as a \(column.strictType?.name ?? "") is, and keys are compared as they are "
          + "spelled; \(ColumnList.types(column.name, "text")) takes every spelling as a key of its own"
      return (text, "\(keyPart(index)) \(reason)")
    }
    let isRead: Bool
    if let type = column.strictType {
      let reading = Reading(type, column.strictNotation)
      isRead = bytes.withUnsafeBytes { Value(spelling: $0, as: reading) } != nil
    } else if let missing = column.missing {
      isRead = bytes.withUnsafeBytes(TypeSet.of).isSubset(of: missing.bounds)
    } else {
      return nil
    }
    if isRead { return nil }
    let type = column.strictType ?? column.missing?.reading.type ?? .text
    // A key has no notation: what would read the value cannot be given.
    var reason =
      MisfitReason(type, column.strictNotation, bytes, column: column.name, isKey: isKey)
      .description
    if let missing = column.missing {
      reason +=
        "; \(missing.shown) is null there: \(ColumnList.types(column.name, "text")) keeps all as text"
    }
    return (text, reason)
  }

  /// The reject for a malformed record.
  func reject(_ malformed: MalformedRecord, _ parsed: ParsedChunk) -> Reject {
    let original = parsed.originalBytes(ofRecord: malformed.record)
    return Reject(
      record: (parsed.chunk?.firstRecord ?? 1) + malformed.record,
      position: SourcePosition(
        file: file, line: malformed.line, column: malformed.column,
        byteOffset: malformed.byteOffset),
      column: nil, value: nil,
      reason: malformed.reason.description
        + malformed.reason.advice(
          original,
          likelyEncoding: likelyEncoding ?? MalformedReason.likelyEncoding(original)),
      original: original,
      mayGoOn: malformed.reason == .unterminatedQuote || malformed.reason == .textAfterClosingQuote)
  }

  /// The reject for a row with a field that does not fit.
  func reject(
    _ record: Int, _ parsed: ParsedChunk, _ chunk: Chunk, _ span: TextSpan, _ column: String?,
    _ value: String?, _ reason: String
  ) -> Reject {
    let start = parsed.byteOffset(ofRecord: record)
    // A field that was unescaped, or is null, has no position in the input; the record's start is then used.
    let offset =
      span.isNull || Int(span.offset) >= chunk.byteCount
      ? start : chunk.inputOffset(Int(span.offset))
    return Reject(
      record: chunk.firstRecord + record,
      position: SourcePosition(
        file: file, line: parsed.line(ofRecord: record), column: offset - start + 1,
        byteOffset: offset),
      column: column, value: value, reason: reason,
      original: parsed.originalBytes(ofRecord: record))
  }

  /// The beginning of the last record, if it has no line end; nil when it has one.
  func unfinished(_ parsed: ParsedChunk, _ chunk: Chunk) -> SourcePosition? {
    guard chunk.isUnfinished, parsed.recordCount > 0 else { return nil }
    let last = parsed.recordCount - 1
    return SourcePosition(
      file: file, line: parsed.line(ofRecord: last), column: 1,
      byteOffset: parsed.byteOffset(ofRecord: last))
  }
}
