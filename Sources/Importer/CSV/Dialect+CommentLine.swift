extension Dialect {
  /// Returns whether a line that begins with a comment may be a record: the comment was found rather than
  /// given, and the line has as many fields as a record, whether quotes and escapes are followed, or with a
  /// delimiter at its end, or one more line belongs to it.
  ///
  /// - Parameters:
  ///   - start: the offset of the comment, after blanks that do not count.
  ///   - end: the offset of the record end, or of the end of the input.
  /// - Complexity: O(bytes of the line), where comments are found; otherwise O(1).
  func mayBeRecord(_ bytes: UnsafeRawPointer, from start: Int, to end: Int) -> Bool {
    guard let width = possibleRecordFields else { return false }
    if rawFields(bytes, from: start, to: end) == width { return true }
    let line = fieldsOfRecord(bytes, from: start, to: end)
    return line.count == width || (line.endsEmpty && line.count - 1 == width)
      || (line.isOpen && line.count <= width)
  }

  /// The number of fields of a line in which every delimiter separates two.
  func rawFields(_ bytes: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
    var position = start + (comment?.count ?? 0)
    var fields = commentFields
    while position < end {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if isWhitespace {
        let previous = bytes.load(fromByteOffset: position - 1, as: UInt8.self)
        if !isSeparatingBlank(byte), isSeparatingBlank(previous) { fields += 1 }
        position += 1
      } else if case .yes = delimiter.match(bytes, at: position, count: end) {
        fields += 1
        position += delimiter.count
      } else {
        position += 1
      }
    }
    return fields
  }

  /// The fields of a line that is a record.
  private struct RecordLine {
    var count = 1
    var state = FieldState.fieldStart
    var endsWithEscape = false

    var endsEmpty: Bool { state == .fieldStart && !isOpen }
    /// True when the record goes on behind the line's end.
    var isOpen: Bool { state == .quoted || endsWithEscape }
  }

  private func fieldsOfRecord(
    _ bytes: UnsafeRawPointer, from start: Int, to end: Int
  ) -> RecordLine {
    var line = RecordLine()
    var position = start
    while position < end {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if line.state != .quoted {
        if isSeparatingBlank(byte) {
          line.state = .blankStart
          position += 1
          continue
        }
        if !isWhitespace, case .yes = delimiter.match(bytes, at: position, count: end) {
          line.count += 1
          line.state = .fieldStart
          position += delimiter.count
          continue
        }
        if isWhitespace, line.state == .blankStart { line.count += 1 }
      }
      position += 1
      if byte == ownEscape {
        line.endsWithEscape = position == end
        if line.state != .quoted { line.state = .unquoted }
        position += escapedLength(bytes, at: position, count: end, atEnd: true) ?? 0
      } else if byte == quote {
        line.state.takeQuote(doubled: doublesQuotes)
      } else if line.state != .quoted {
        line.state = line.state.beginsField && isBlank(byte) ? .blankStart : .unquoted
      }
    }
    return line
  }
}
