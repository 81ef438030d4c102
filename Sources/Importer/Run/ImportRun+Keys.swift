/// The primary key of an import, and the options that require one.
extension ImportRun {
  /// The primary key of the import: that of the table, now or after the import.
  func keys(of table: TableContents?) throws -> [String] {
    let own = table?.keyColumns ?? []
    // For an import the order of the key's columns has no effect.
    if !own.isEmpty, !options.keys.isEmpty, Set(own) != Set(options.keys) {
      func shown(_ keys: [String]) -> String { "'\(keys.joined(separator: ", "))'" }
      throw ImportError.invalidOption(
        "table '\(tableName)' has the key \(shown(own)), not \(shown(options.keys)): leave --key out, or "
          + "name another table with --table")
    }
    let keys = own.isEmpty ? options.keys : own
    // `sniff` has no table.
    if keys.isEmpty, options.conflictPolicy != .error, !options.isSniffing {
      throw ImportError.invalidOption(
        "--on-conflict \(options.conflictPolicy.rawValue) needs a key, and table '\(tableName)' has "
          + "none: name the column with --key")
    }
    if options.conflictPolicy.leavesOut, options.ignoresBlanks || options.newerThan != nil {
      throw ImportError.invalidOption(
        "\(options.newerThan == nil ? "--ignore-blanks" : "--newer-than") says how records change objects: "
          + "give --key and --on-conflict update or replace")
    }
    if options.deletesMissing, keys.isEmpty {
      throw ImportError.invalidOption(
        "--delete-missing needs a key, and table '\(tableName)' has none: name the column with --key"
      )
    }
    if let newer = options.newerThan, keys.contains(newer) {
      throw ImportError.invalidOption(
        "--newer-than '\(newer)': the key is the same in the record and the object; name a column that says "
          + "how new they are")
    }
    return keys
  }
}
