import Engine

/// Writes nearly all rows: those without bytes that have a meaning in `COPY`, in which each value is sent as
/// it is spelled, or as a cached spelling. `CopyPieceBuilder` writes the others, with the same result.
///
/// Thread rule: confined.
final class PlainRows {
  /// The conditions for each field.
  private struct FieldRule {
    let shortcut: CopyField.Shortcut
    let isNullable: Bool
    let isKey: Bool
    /// nil for columns without a notation.
    let sent: Unmanaged<SentSpellings>?
  }

  // Plain memory: an array would be retained, and its bounds be checked, for each field.
  private let columns: UnsafeMutableBufferPointer<FieldRule>
  /// Keeps alive the memory that the columns point into.
  private let sent: [SentSpellings?]

  /// A field of up to this many bytes is copied by two instructions, whatever its length.
  private static let short = 16
  /// The maximum number of bytes written for a field beyond those of the record. A cached spelling is the
  /// longest.
  private static let mostAdded = SentSpellings.surplus + 1

  /// - Parameters:
  ///   - fields: how values are sent, column by column.
  ///   - sent: the cached spellings of each column.
  init(_ plan: ImportPlan, _ fields: [CopyField], _ sent: [SentSpellings?]) {
    self.sent = sent
    columns = .allocate(capacity: fields.count)
    for index in fields.indices {
      columns.initializeElement(
        at: index,
        to: FieldRule(
          shortcut: fields[index].shortcut, isNullable: plan.columns[index].isNullable,
          isKey: plan.keyColumns.contains(index),
          sent: sent[index].map { Unmanaged.passUnretained($0) }))
    }
  }

  deinit { columns.deallocate() }

  /// Writes a row with its line end.
  ///
  /// - Parameters:
  ///   - record: the record's bytes. Fields are parts of it, or parts of it without some bytes.
  ///   - spans: a field for each column.
  ///   - memory: the bytes that the spans point into.
  ///   - nulls: the number of nulls of each column; the row's nulls are added.
  /// - Returns: false when the row must be examined, and nothing was written.
  @inline(__always)
  func write(
    _ record: UnsafeRawBufferPointer, _ spans: UnsafePointer<TextSpan>,
    _ memory: UnsafeRawBufferPointer, to text: CopyText, _ nulls: inout [Int]
  ) -> Bool {
    guard let base = memory.baseAddress, CopyText.isPlain(record) else { return false }
    var hasNulls = false
    let isWritten = text.write(most: record.count &+ columns.count &* Self.mostAdded) { start in
      var place = start
      for index in 0..<columns.count {
        let span = spans[index]
        let column = columns[index]
        if span.isNull {
          guard column.isNullable else { return nil }
          hasNulls = true
          place.storeBytes(of: 0x5C, as: UInt8.self)
          place.storeBytes(of: 0x4E, toByteOffset: 1, as: UInt8.self)
          place += 2
        } else {
          let field = span.bytes(from: base)
          let limit = memory.count &- Int(span.offset)
          guard let count = Self.put(field, column, limit, at: place) else { return nil }
          place += count
        }
        place.storeBytes(of: 0x09, as: UInt8.self)
        place += 1
      }
      // The tab behind the last field becomes the line end.
      (place - 1).storeBytes(of: 0x0A, as: UInt8.self)
      return place - start
    }
    if isWritten, hasNulls {
      for index in 0..<columns.count where spans[index].isNull { nulls[index] += 1 }
    }
    return isWritten
  }

  /// Writes a field.
  ///
  /// - Parameter limit: the number of bytes that can be read from the field's beginning on.
  /// - Returns: the number of bytes; nil when the field must be examined.
  @inline(__always)
  private static func put(
    _ field: UnsafeRawBufferPointer, _ column: FieldRule, _ limit: Int,
    at place: UnsafeMutableRawPointer
  ) -> Int? {
    guard let start = field.baseAddress, field.count > 0 || !column.isKey else { return nil }
    switch column.shortcut {
    case .text: break
    case .integer: guard CopyField.isPlainInteger(field) else { return nil }
    case .number: guard CopyField.isPlainNumber(field) else { return nil }
    case .none:
      guard let known = column.sent?._withUnsafeGuaranteedRef({ $0.text(field) }),
        let text = known.baseAddress
      else { return nil }
      place.copyMemory(from: text, byteCount: SentSpellings.surplus)
      return known.count
    }
    if field.count <= short, limit >= short {
      place.copyMemory(from: start, byteCount: short)
    } else {
      place.copyMemory(from: start, byteCount: field.count)
    }
    return field.count
  }
}

@available(*, unavailable)
extension PlainRows: Sendable {}
