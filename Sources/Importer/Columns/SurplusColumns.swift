import Engine

/// The columns of a table that imports have made for the surplus fields of long records. A column that has
/// such a name, but that an input or a user has named, gets no surplus fields.
///
/// Stored with the table, as the columns' identifiers: four bytes each. A table without the note is as
/// earlier versions left it, or has never had a column of such a name.
package enum SurplusColumns {
  /// The name of the table's note.
  static let note = "surplus columns"

  /// The index of the surplus field, from 0, for whose column a name may be: `extra1`, `extra1_2` and so on.
  static func index(of name: String) -> Int? { parts(name)?.index }

  /// The index, and the suffix; 1 when there is none.
  private static func parts(_ name: String) -> (index: Int, suffix: Int)? {
    guard name.hasPrefix("extra") else { return nil }
    let parts = name.dropFirst("extra".count).split(
      separator: "_", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Int($0) }
    guard let number = numbers.first, number > 0, number < 1 << 31, numbers.count == parts.count,
      numbers.count < 3
    else { return nil }
    let suffix = numbers.count == 2 ? numbers[1] : 1
    let spelled = numbers.count == 2 ? "extra\(number)_\(suffix)" : "extra\(number)"
    return spelled == name && (numbers.count == 1 || suffix > 1) ? (number - 1, suffix) : nil
  }

  /// The identifiers of these columns.
  ///
  /// - Parameter note: the notes of the table.
  static func all(_ schema: TableSchema, _ note: (String) -> [UInt8]?) -> Set<UInt32> {
    note(Self.note).map(ColumnNumbers.decode) ?? likely(schema, note)
  }

  /// The columns that earlier versions, which left no note, have probably made: those without a gap that have
  /// come one after the other. What a program has declared is its own.
  private static func likely(
    _ schema: TableSchema, _ note: (String) -> [UInt8]?
  ) -> Set<UInt32> {
    let declared = note(DeclaredColumns.note).map(ColumnNumbers.decode) ?? []
    var named: [Int: [(suffix: Int, identifier: UInt32)]] = [:]
    for (identifier, column) in zip(schema.columnIDs, schema.columns) {
      guard !declared.contains(identifier), let parts = parts(column.name) else { continue }
      named[parts.index, default: []].append((parts.suffix, identifier))
    }
    var (likely, last): (Set<UInt32>, UInt32) = ([], 0)
    var index = 0
    while let columns = named[index]?.filter({ $0.identifier > last }),
      let first = columns.min(by: { $0.suffix < $1.suffix })
    {
      likely.formUnion(columns.map(\.identifier))
      last = first.identifier
      index += 1
    }
    return likely
  }

  /// Has a table of earlier versions remember its columns for surplus fields, before columns of such names
  /// come, go or are renamed.
  ///
  /// - Parameter names: the names of these columns.
  package static func remember(_ table: WritableTable, before names: [String]) throws {
    try table.editor.rememberSurplus(before: names)
  }
}

extension TableEditor {
  /// Records the columns for surplus fields if one of the names, which are not for them, could be one of
  /// theirs.
  ///
  /// - Parameter isNew: whether the table has only columns that an input has named.
  func rememberSurplus(before names: [String], isNew: Bool = false) throws {
    guard note(SurplusColumns.note) == nil,
      names.contains(where: { SurplusColumns.index(of: $0) != nil })
    else { return }
    let known = isNew ? [] : SurplusColumns.all(schema, note)
    try setNote(SurplusColumns.note, ColumnNumbers.encode(known))
  }

  /// Adds columns for surplus fields.
  func addSurplus(_ names: [String]) throws {
    if names.isEmpty { return }
    let known = SurplusColumns.all(schema, note)
    var added: [UInt32] = []
    for name in names {
      added.append(schema.nextColumnID)
      try addColumn(Column(name, .text))
    }
    let all = known.union(added).intersection(schema.columnIDs)
    try setNote(SurplusColumns.note, ColumnNumbers.encode(all))
    try addGuessed(added)
  }
}
