extension InputFindings {
  /// The trials, the best first.
  init(_ trials: [DialectTrial], chosen: Dialect) {
    self.init()
    func text(_ byte: UInt8) -> String { String(decoding: [byte], as: UTF8.self) }
    candidates = trials.sorted { $0.score > $1.score }.map { trial in
      let dialect = trial.dialect
      return Candidate(
        delimiter: dialect.delimiterName, quote: dialect.quote.map(text),
        escape: dialect.escape.map(text), fields: trial.width, agreeing: trial.agreeing,
        malformed: trial.malformed, typedColumns: trial.typedColumns,
        splitFields: trial.splitFields,
        leavesDelimiters: trial.leavesDelimiters, score: trial.score,
        isChosen: dialect.delimiterName == chosen.delimiterName && dialect.quote == chosen.quote
          && dialect.escape == chosen.escape)
    }
  }
}
