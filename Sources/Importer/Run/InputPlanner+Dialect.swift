import Engine

/// The dialect of an input.
extension InputPlanner {
  /// A dialect, and how it was found.
  struct FoundDialect {
    var dialect: Dialect
    /// Lines at the beginning that are comments, although one of them has as many fields as a record.
    let leadingComments: Int
    /// The trials, in order.
    let trials: [DialectTrial]
    /// True when each line is one value, and a note says so.
    var isLone = false
  }

  /// Finds the parts that were not given, and whether lines must stay undivided.
  func findDialect(
    _ sample: Sample, _ given: DialectSniffer.Given, _ notes: inout [String]
  ) throws(ImportError) -> FoundDialect {
    var sniffer = DialectSniffer(sample.bytes, isWhole: sample.isWhole, given: given)
    var dialect = try sniffer.find()
    dialect.keepsTextBehindQuotes = options.quotes == .lenient
    var found = FoundDialect(
      dialect: dialect, leadingComments: sniffer.leadingComments, trials: sniffer.trials)
    noteNames(sniffer, sample, &notes)
    // Several names mean several columns.
    if case .names(let names) = options.header, names.count > 1 { return found }
    guard given.delimiter == nil, options.headerLines == 1,
      let unused = LoneColumn.unused(sample.bytes),
      let lone = LoneColumn(
        sample.bytes, isWhole: sample.isWhole, delimiter: dialect.delimiter,
        mayHaveName: options.header != .absent)
    else { return found }
    notes.append(lone.note(isTaken: lone.isCertain, unused: unused))
    guard lone.isCertain else { return found }
    var whole = given
    whole.delimiter = unused
    sniffer = DialectSniffer(sample.bytes, isWhole: sample.isWhole, given: whole)
    found.dialect = try sniffer.find()
    found.dialect.keepsTextBehindQuotes = options.quotes == .lenient
    return FoundDialect(
      dialect: found.dialect, leadingComments: sniffer.leadingComments,
      trials: found.trials + sniffer.trials, isLone: true)
  }

  /// Notes names that may not be names, and a comment that may contain them.
  private func noteNames(_ sniffer: DialectSniffer, _ sample: Sample, _ notes: inout [String]) {
    guard options.header == .sniffed, options.headerLines == 1 else { return }
    if sniffer.mayHaveTitle, options.skipLines == nil {
      let title = sample.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
      notes.append(
        "the words of the first line, '\(String(decoding: title.prefix(60), as: UTF8.self))', do not stand "
          + "above the columns: if they are a title, use --skip-lines 1 --header no")
    }
    let names = sniffer.namesInComment
    if !names.isEmpty {
      notes.append(
        "a comment has as many words as there are columns: if they are the names, give --header "
          + "'\(names.joined(separator: ","))'")
    }
  }
}
