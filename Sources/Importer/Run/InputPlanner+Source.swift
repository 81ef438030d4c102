import Engine

/// The source of an input's bytes: a file, a pipe, or a server.
extension InputPlanner {
  /// Opens an input and finds its dialect, header and columns.
  ///
  /// - Throws: the errors of `open(_:)`, of opening the file and of beginning the query.
  static func open(_ file: InputFile, _ options: ImportOptions) throws -> Opened {
    guard let query = file.query else {
      let source = try FileSource.open(file.path)
      source.isCancelled = options.shouldStop
      return try InputPlanner(options: options, path: file.path).open(source)
    }
    let source = try ServerQuerySource(query, isCancelled: options.shouldStop)
    source.isCancelled = options.shouldStop
    return try open(source, types: source.types, path: file.path, options)
  }

  /// Opens CSV written by this program, whose columns have these types.
  static func open(
    _ source: any ByteSource, types: [ColumnType?], path: String, _ options: ImportOptions
  ) throws -> Opened {
    try InputPlanner(options: options.ofOwnForm, path: path, types: types).open(source)
  }

  /// Refuses options that do not apply to queries among the inputs.
  ///
  /// - Throws: `ImportError.cannotResume`, `.invalidOption`.
  static func check(_ files: [InputFile], _ options: ImportOptions) throws(ImportError) {
    guard let query = files.first(where: { $0.query != nil }) else { return }
    if options.resume {
      throw .cannotResume(
        path: query.name,
        reason:
          "the rows of a query may be others each time, and in another order: import all of them, "
          + "with --truncate in place of those that are there, or with --key and --on-conflict")
    }
    if options.saysHowFilesAreWritten {
      throw .invalidOption(
        "\(query.name) is a query, whose rows come with their names and in one form: options for how a file "
          + "is written are for files")
    }
  }
}

extension ImportOptions {
  /// Refuses numbers that no input can have.
  func checkNumbers() throws(ImportError) {
    guard (1...Self.mostHeaderLines).contains(headerLines) else {
      throw .invalidOption("header lines must be from 1 to \(Self.mostHeaderLines)")
    }
    for (number, what) in [(skipLines ?? 0, "lines to skip"), (skipFooter, "footer lines")]
    where number < 0 {
      throw .invalidOption("\(what) must be 0 or more")
    }
    if let limit, limit < 0 { throw .invalidOption("the limit must be 0 or more") }
  }

  /// The options for reading rows of a query or a table, which have one fixed dialect.
  fileprivate var ofOwnForm: ImportOptions {
    var own = self
    (own.delimiter, own.quote, own.escape, own.comment) = (",", 0x22, 0x22, "")
    (own.skipLines, own.encoding, own.header) = (0, .utf8, .firstRecord)
    return own
  }

  fileprivate var saysHowFilesAreWritten: Bool {
    delimiter != nil || quote != nil || escape != nil || comment != nil || skipLines != nil
      || encoding != nil || header != .sniffed || headerLines > 1 || skipFooter > 0
      || quotes != .strict || decimalMark != nil || thousandsSeparator != nil
      || hasNoThousands || !dateFormats.isEmpty || takesFolderColumns || requiresFinalNewline
      || ragged != .reject
  }
}
