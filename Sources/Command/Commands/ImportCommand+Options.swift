import Base
import Engine
import Importer

/// Converts the words of a command line to the options of the library.
extension ImportCommand {
  /// The library's options for the given arguments.
  static func options(_ arguments: ParsedArguments) throws -> ImportOptions {
    var options = ImportOptions(
      inputs: arguments.positionals, database: try arguments.required(into))
    options.table = try arguments.value(table)
    try readCommitOptions(arguments, &options)
    if let count = try arguments.value(parsers) {
      // More threads than processors would only take turns, each with memory of its own.
      options.parsers = min(count, max(2, System.processorCount))
    }
    // For measuring on machines with few cores.
    if let readers = System.environment("SHEAF_READERS").flatMap({ Int($0) }) {
      options.readers = min(max(0, readers), ImportOptions.mostThreads)
    }
    options.queue = try arguments.required(queue)
    try readDialect(arguments, &options)
    try readColumns(arguments, &options)
    options.requiresFinalNewline = arguments.isSet(requireFinalNewline)
    options.limit = try arguments.value(limit)
    options.ragged = try arguments.required(ragged)
    options.rejects = try arguments.value(rejects)
    options.ignoresBlanks = arguments.isSet(ignoreBlanks)
    options.newerThan = try arguments.value(newerThan)
    try readDeletions(arguments, &options)
    options.sameInput = try arguments.required(sameInput)
    if let milliseconds = try arguments.value(joinBatches) {
      if options.durability == .full {
        throw CommandError.usage(
          "--join-batches is for --durability group and none: full has every batch on the disk before "
            + "the next begins")
      }
      options.joinsBatchesFor = UInt64(milliseconds) * 1_000_000
    }
    options.publication = try arguments.value(publish) ?? impliedPublication(arguments, options)
    options.keepVersions = try arguments.value(keepVersions)
    options.changes = try arguments.value(changes)
    if let path = options.changes, let report = try arguments.value(CommonOptions.reportFile),
      path == report || System.areTheSame(path, report)
    {
      throw CommandError.usage("--changes and --report-file name the same file; choose another")
    }
    options.compaction.mode = try arguments.required(compact)
    options.compaction.above = try arguments.required(compactAbove)
    options.compaction.usedBelow = try arguments.required(compactUsedBelow).value / 100
    return options
  }

  /// Reads the options for commits. They do not depend on the kind of input, so `export` into a server has
  /// them too.
  static func readCommitOptions(
    _ arguments: ParsedArguments, _ options: inout ImportOptions
  ) throws {
    options.keys = try keys(arguments)
    options.conflictPolicy = try arguments.required(onConflict)
    options.batchSize =
      switch try arguments.value(batchSize) {
      case nil: nil
      case .all: .all
      case .count(let count): .records(count)
      }
    options.durability = try arguments.required(durability)
    options.maxRejects =
      switch try arguments.required(maxRejects) {
      case .unlimited: .unlimited
      case .count(let count): .count(count)
      case .percent(let percent): .share(percent.value / 100)
      }
    options.resume = arguments.isSet(resume)
    options.wait = Double(try arguments.required(CommonOptions.wait))
    options.truncate = arguments.isSet(truncate)
    options.allowsEmpty = arguments.isSet(allowEmpty)
    options.dryRun = arguments.isSet(dryRun)
  }

  /// The columns of the key.
  static func keys(_ arguments: ParsedArguments) throws -> [String] {
    let names = try arguments.value(key) ?? []
    if let name = names.enumerated().first(where: { names[..<$0.offset].contains($0.element) }) {
      throw CommandError.usage("--key names '\(name.element)' twice")
    }
    return names
  }

  /// The time at which readers see the imported rows, unless an option gives it. An import that replaces a
  /// table is published as a whole.
  private static func impliedPublication(
    _ arguments: ParsedArguments, _ options: ImportOptions
  ) throws -> ImportOptions.Publication {
    if try ServerAddress.isServer(arguments.required(into)) { return .batches }
    return options.deletesMissing || (options.truncate && options.batchSize == nil)
      ? .end : .batches
  }

  /// Reads the options for deletions.
  private static func readDeletions(
    _ arguments: ParsedArguments, _ options: inout ImportOptions
  ) throws {
    options.deletesMissing = arguments.isSet(deleteMissing)
    for option in [maxDeletes, minRecords] where arguments.isGiven(option) {
      guard options.deletesMissing else {
        throw CommandError.usage("--\(option.name) is for --delete-missing: give both")
      }
    }
    options.maxDeletes = try arguments.value(maxDeletes).map(portion)
    options.minRecords = portion(try arguments.required(minRecords))
  }

  private static func portion(_ tolerance: Tolerance) -> ImportOptions.Portion {
    switch tolerance {
    case .count(let count): .count(count)
    case .percent(let percent): .share(percent.value / 100)
    case .unlimited: .share(1)
    }
  }

  /// Reads the options for the input's dialect.
  static func readDialect(
    _ arguments: ParsedArguments, _ options: inout ImportOptions
  ) throws {
    options.delimiter = try arguments.value(delimiter)
    if arguments.isGiven(quote) { options.quote = try arguments.value(quote) }
    if arguments.isGiven(escape) { options.escape = try arguments.value(escape) }
    options.quotes = try arguments.required(quotes)
    options.comment = try arguments.value(comment)
    options.skipLines = try arguments.value(skipLines)
    options.skipFooter = try arguments.required(skipFooter)
    options.headerLines = try arguments.required(headerLines)
    options.encoding = try arguments.value(encoding)
    options.header =
      switch try arguments.value(header) {
      case nil: .sniffed
      case .firstRecord: .firstRecord
      case .absent: .absent
      case .names(let names): .names(try unrepeated(names, header))
      }
    if options.headerLines > 1, options.header == .absent || options.header.hasNames {
      throw CommandError(.usage, "--header-lines needs a header in the input: leave --header out")
    }
  }

  /// Reads the options for columns and their types.
  static func readColumns(
    _ arguments: ParsedArguments, _ options: inout ImportOptions
  ) throws {
    options.types =
      switch try arguments.required(types) {
      case .infer: .infer
      case .text: .text
      case .named(let types):
        .named(
          Dictionary(
            uniqueKeysWithValues: zip(
              try unrepeated(types.map(\.column), Self.types), types.map(\.type))))
      }
    options.nulls = try arguments.values(null)
    options.trimsFields = arguments.isSet(trim)
    options.dateFormats = try arguments.values(dateFormat)
    options.decimalMark = try arguments.value(decimal)
    let separator = try arguments.value(thousands)
    options.thousandsSeparator = separator ?? nil
    options.hasNoThousands = separator == .some(nil)
    options.columns = try arguments.value(columns)
    for renamed in try arguments.values(rename).joined() {
      guard options.renames.updateValue(renamed.new, forKey: renamed.old) == nil else {
        throw CommandError(.usage, "--rename names '\(renamed.old)' twice")
      }
    }
    options.newColumns = arguments.isSet(newColumns)
    options.requiredColumns = try arguments.value(notNull) ?? []
    for expression in try arguments.values(check) {
      // With an empty variable in a script, nothing would be checked.
      guard expression.contains(where: { !$0.isWhitespace }) else {
        throw CommandError.usage("--check needs an expression, such as 'price >= 0'")
      }
      do {
        options.rules.append(try RecordRule(expression))
      } catch {
        throw CommandError(.usage, "--check: \(error)")
      }
    }
    if let expression = try arguments.value(filter) {
      guard expression.contains(where: { !$0.isWhitespace }) else {
        throw CommandError.usage("--where needs an expression, such as 'region == \"eu\"'")
      }
      do {
        options.filter = try RecordRule(expression)
      } catch {
        throw CommandError(.usage, "--where: \(error)")
      }
    }
    options.schemaPolicy = try arguments.required(schema)
    if let name = try arguments.value(filename) {
      options.addedColumns.append(try AddedColumn(name, "{path}"))
    }
    if let name = try arguments.value(recordNumber) {
      options.addedColumns.append(try AddedColumn(name, "{record}"))
    }
    options.addedColumns += try arguments.values(set)
    options.takesFolderColumns = arguments.isSet(hive)
  }

  /// The names of an option; a repeated one is an error.
  private static func unrepeated(_ names: [String], _ option: some OptionEntry)
    throws(CommandError) -> [String]
  {
    var seen = Set<String>()
    for name in names where !seen.insert(name).inserted {
      throw .usage("--\(option.name) names '\(name)' twice")
    }
    return names
  }
}

extension ImportOptions.HeaderRule {
  fileprivate var hasNames: Bool {
    if case .names = self { return true }
    return false
  }
}
