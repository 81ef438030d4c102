import Engine

extension ImportPlan {
  /// The plan of an input that was opened and matched with its table.
  ///
  /// - Parameters:
  ///   - columns: replaces the columns of the match.
  ///   - encodes: whether parsers encode clusters; nil: decided by the batch size and the input's size.
  init(
    _ file: InputFile, _ opened: InputPlanner.Opened, _ match: TableMatch, _ options: ImportOptions,
    columns: [PlannedColumn]? = nil, encodes: Bool? = nil
  ) {
    let batchRecords: Int? =
      if case .records(let size) = options.effectiveBatchSize { size } else { nil }
    self.init(
      file: file.name, dialect: opened.dialect, ragged: options.ragged,
      header: opened.repeatedHeader,
      endsWithDelimiter: opened.endsWithDelimiter,
      nulls: options.nulls.map { Array($0.utf8) }, trimsFields: options.trimsFields,
      fieldCount: opened.header.names.count,
      fields: match.fields, columns: columns ?? match.plannedColumns,
      added: opened.added.columns.isEmpty ? nil : opened.added, rules: match.rules,
      filter: match.filter,
      keyColumns: match.keyColumns, extras: match.extras,
      // A small input's rows fill shared clusters, as those of small batches do.
      encodes: encodes
        ?? (!file.isSmall
          && batchRecords.map { $0 >= Self.leastEncoded(options, match.filter == nil) } ?? true),
      batchRecords: batchRecords, likelyEncoding: opened.likelyEncoding)
  }

  /// The fewest records of a batch that is encoded by itself. Where a transaction may have several small
  /// batches, or a batch hardly any records, these fill shared clusters: clusters are joined once for each
  /// transaction.
  private static func leastEncoded(_ options: ImportOptions, _ takesAll: Bool) -> Int {
    options.joinsBatchesFor == 0 && takesAll
      ? ImportOptions.leastEncoded : ImportOptions.smallBatch
  }
}
