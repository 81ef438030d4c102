import Engine

/// The columns of an input that are imported, and their names in the table.
struct ColumnChoice {
  /// The names in the table.
  let names: [String]
  /// The field of each column; nil: all fields in their order.
  let fields: [Int]?

  /// The names in the table of the columns that are imported, whether or not the choice is valid.
  static func taken(_ names: [String], _ options: ImportOptions) -> [String] {
    let chosen = options.columns.map(Set.init)
    return names.filter { chosen?.contains($0) ?? true }.map { options.renames[$0] ?? $0 }
  }

  /// - Parameter names: the names of the input's columns.
  /// - Throws: `ImportError.noSuchColumn`; `.invalidOption` when a column is chosen twice, or two get the
  ///   same name.
  init(_ names: [String], _ options: ImportOptions) throws(ImportError) {
    for name in options.renames.keys.sorted() where !names.contains(name) {
      throw .noSuchColumn(name: name, known: names)
    }
    var fields: [Int] = []
    for name in options.columns ?? [] {
      guard let field = names.firstIndex(of: name) else {
        throw .noSuchColumn(name: name, known: names)
      }
      guard !fields.contains(field) else {
        throw .invalidOption("--columns names '\(name)' twice")
      }
      fields.append(field)
    }
    if let columns = options.columns, columns.isEmpty {
      throw .invalidOption("--columns names no column")
    }
    for name in options.renames.keys.sorted()
    where options.columns.map({ !$0.contains(name) }) ?? false {
      throw .invalidOption("--rename names '\(name)', which --columns leaves out")
    }
    self.fields = options.columns == nil ? nil : fields
    var chosen: [String] = []
    var taken: [String: String] = [:]
    for name in self.fields?.map({ names[$0] }) ?? names {
      let new = options.renames[name] ?? name
      guard !new.isEmpty else { throw .invalidOption("--rename gives '\(name)' an empty name") }
      if let other = taken.updateValue(name, forKey: new) {
        throw .invalidOption(
          "the columns '\(other)' and '\(name)' would both be called '\(new)': choose other names "
            + "with --rename, or leave one out with --columns")
      }
      chosen.append(new)
    }
    self.names = chosen
  }
}
