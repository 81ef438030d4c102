import Base
import Engine

/// Digests of the options that decide how records are imported, by which a later run with `resume` notices
/// that it has others.
struct OptionsDigest {
  let options: ImportOptions

  /// The options for files and servers whose values are in a digest, for a message.
  static let names =
    "--types, --date-format, --decimal, --thousands, --columns, --rename, --set, --filename, "
    + "--record-number, --header, --header-lines, --skip-lines, --skip-footer, --delimiter, --quote, "
    + "--escape, --comment, --encoding, --null, --quotes, --ragged, --trim, --not-null, --check, --schema, "
    + "--key, --on-conflict"

  /// Of the options, and of what they found in an input: its dialect and its header.
  ///
  /// - Parameter keys: the table's primary key, given or existing.
  func whole(_ opened: InputPlanner.Opened, keys: [String]) -> UInt64 {
    var writer = ByteWriter()
    writer.append(opened.dialect.delimiterName)
    writer.append(opened.dialect.quote ?? 0)
    writer.append(opened.dialect.escape ?? 0)
    writer.append(opened.dialect.comment?.text ?? "")
    writer.append(opened.encoding.rawValue)
    writer.append(opened.endsWithDelimiter)
    writer.append(opened.hasHeader)
    appendReading(to: &writer)
    for name in opened.header.names { writer.append(name) }
    appendMeaning(to: &writer)
    if options.takesFolderColumns {
      for column in opened.added.columns { writer.append(column.name) }
    }
    appendRenames(to: &writer)
    if !keys.isEmpty { appendConflicts(keys, to: &writer) }
    return Checksum.of(writer.bytes)
  }

  /// Of the options as they were given, whatever they find in an input: 32 bits, never 0. Without the primary
  /// key, which a table keeps.
  var given: Int {
    var writer = ByteWriter()
    writer.append(options.delimiter ?? "")
    for byte in [options.quote, options.escape] {
      writer.append(byte.map { $0.map { "\($0)" } ?? "none" } ?? "")
    }
    writer.append(options.comment ?? "")
    writer.append(options.encoding?.rawValue ?? "")
    writer.append(options.skipLines.map { "\($0)" } ?? "")
    switch options.header {
    case .sniffed: writer.append("sniffed")
    case .firstRecord: writer.append("first record")
    case .absent: writer.append("absent")
    case .names(let names): for name in names { writer.append(name) }
    }
    appendReading(to: &writer)
    appendMeaning(to: &writer)
    writer.append(options.takesFolderColumns)
    appendRenames(to: &writer)
    appendConflicts([], to: &writer)
    if options.deletesMissing { writer.append("delete-missing") }
    if options.truncate { writer.append("truncate") }
    return max(1, Int(Checksum.of(writer.bytes) & 0xFFFF_FFFF))
  }

  /// Returns whether these options make of an input's records what the options of a digest made of them:
  /// `--delete-missing` and `--truncate` delete only what an input does not have.
  ///
  /// - Parameter other: the `given` of an earlier import.
  func makeTheSame(as other: Int) -> Bool {
    [(false, false), (true, false), (false, true)].contains { deletes, truncates in
      var others = options
      (others.deletesMissing, others.truncate) = (deletes, truncates)
      return OptionsDigest(options: others).given == other
    }
  }

  /// A note about inputs that are left out although these options may make something else of their records.
  static func notes(ofOthers inputs: [String]) -> [String] {
    guard let first = inputs.first else { return [] }
    let more = inputs.count > 1 ? " and \(inputs.count - 1) more" : ""
    let (were, them) = inputs.count > 1 ? ("were", "them") : ("was", "it")
    return [
      "\(first)\(more) \(were) imported completely before, with other options than these, and \(were) left "
        + "out: import \(them) without --resume where records or columns are missing"
    ]
  }

  // What follows is added only if the option is given, so that older digests stay valid.

  private func appendReading(to writer: inout ByteWriter) {
    if options.headerLines > 1 { writer.append("header-lines \(options.headerLines)") }
    if options.quotes == .lenient { writer.append("quotes lenient") }
    if options.skipFooter > 0 { writer.append("skip-footer \(options.skipFooter)") }
    if options.trimsFields { writer.append("trim") }
  }

  private func appendMeaning(to writer: inout ByteWriter) {
    for null in options.nulls { writer.append(null) }
    writer.append(options.ragged.rawValue)
    switch options.types {
    case .infer: writer.append("infer")
    case .text: writer.append("text")
    case .named(let types):
      for (name, type) in types.sorted(by: { $0.key < $1.key }) {
        writer.append(name)
        writer.append(type.rawValue)
      }
    }
    for format in options.dateFormats {
      writer.append("date-format")
      writer.append(format.column ?? "")
      writer.append(format.format)
    }
    if let mark = options.decimalMark { writer.append(mark.rawValue) }
    if let separator = options.thousandsSeparator {
      writer.append("thousands")
      writer.append(separator)
    }
    if options.hasNoThousands { writer.append("no thousands") }
    for name in options.columns ?? [] {
      writer.append("column")
      writer.append(name)
    }
    appendRules(to: &writer)
    for column in options.addedColumns {
      writer.append("added")
      writer.append(column.name)
      writer.append(column.template)
    }
  }

  private func appendRenames(to writer: inout ByteWriter) {
    for (old, new) in options.renames.sorted(by: { $0.key < $1.key }) {
      writer.append(old)
      writer.append(new)
    }
  }

  private func appendRules(to writer: inout ByteWriter) {
    for name in options.requiredColumns {
      writer.append("not-null")
      writer.append(name)
    }
    for rule in options.rules {
      writer.append("check")
      writer.append(rule.expression)
    }
    if let filter = options.filter {
      writer.append("where")
      writer.append(filter.expression)
    }
    if options.schemaPolicy != .add {
      writer.append("schema")
      writer.append(options.schemaPolicy.rawValue)
    }
  }

  private func appendConflicts(_ keys: [String], to writer: inout ByteWriter) {
    for key in keys { writer.append(key) }
    writer.append(options.conflictPolicy.rawValue)
    if options.ignoresBlanks { writer.append("ignore-blanks") }
    if let column = options.newerThan {
      writer.append("newer-than")
      writer.append(column)
    }
  }
}
