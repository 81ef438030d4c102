import Engine

/// The assignment of an input's fields to columns, with all that is known before its records are parsed.
///
/// Thread rule: `Sendable`; the parser threads share one.
struct ImportPlan: Sendable {
  struct PlannedColumn: Sendable, Equatable {
    let name: String
    /// The identifier of the column in clusters.
    let identifier: UInt32
    /// The type that the user gave; values that do not fit are rejected. Nil: inferred.
    let strictType: ColumnType?
    /// How its values are spelled; nil: canonically.
    var strictNotation: Notation? = nil
    /// Spellings that mean null here, and the reading of the other values.
    var missing: MissingValues? = nil
    /// The possible readings of its values, when their classes do not determine it.
    var candidates: [ReadingCandidate] = []
    let isNullable: Bool
    /// True for a column that the table does not have yet.
    let isNew: Bool
    /// True for a new one to which the user gave no type.
    let isGuessed: Bool

    /// The reading that each value must be checked against, when the classes do not decide it.
    var scanned: Reading? {
      guard let strictType, strictNotation != nil || !strictType.hasClasses else { return nil }
      return Reading(strictType, strictNotation)
    }

    /// The column's definition when it is created.
    var definition: Column { Column(name, strictType ?? .text, notation: strictNotation) }
  }

  /// A rule, ready for the input's records.
  struct PlannedRule: Sendable {
    let expression: String
    /// True for records that the rule refuses.
    let refusal: RecordTest
  }

  /// The condition for records to be imported, ready for the input's records.
  struct PlannedFilter: Sendable {
    let test: RecordTest
    /// The columns that it compares, by their places.
    let columns: [Int]
  }

  let file: String
  let dialect: Dialect
  let ragged: ImportOptions.Ragged
  /// The header's fields, so that a repeated header does not count as a record; empty: it may.
  let header: [[UInt8]?]
  /// Whether an empty field behind the last column is dropped.
  let endsWithDelimiter: Bool
  let nulls: [[UInt8]]
  /// Whether blanks around fields are left out.
  var trimsFields = false
  /// The number of fields of a record.
  let fieldCount: Int
  /// The fields that become columns, in the order of the columns; nil: all, in their own order.
  let fields: [Int]?
  /// One for each field of a record that becomes a column.
  let columns: [PlannedColumn]
  /// Columns that do not come from a field: the last of `columns`; nil: none.
  var added: AddedValues? = nil
  /// Conditions for every record.
  var rules: [PlannedRule] = []
  /// The condition for records to be imported; nil: all are.
  var filter: PlannedFilter? = nil
  /// The indexes of the columns of the table's primary key, in its order; empty: it has none.
  let keyColumns: [Int]
  /// The columns for surplus fields, numbered as they are needed.
  let extras: ExtraColumns
  /// Whether parsers encode clusters, or hand over rows for shared ones.
  let encodes: Bool
  /// Records in a batch; nil: all in one.
  let batchRecords: Int?
  /// Whether rows are only looked at, for the types of their columns, and kept nowhere.
  var onlyFindsTypes = false
  /// Whether the place of each row's record is recorded.
  var keepsPlaces = false
  /// The likely encoding of a record that is not UTF-8, from the beginning of the input.
  var likelyEncoding: String? = nil

  /// The identifier of the column for a field of a record; surplus fields included.
  func identifier(_ index: Int) -> UInt32 {
    index < columns.count ? columns[index].identifier : extras.identifier(index - columns.count)
  }

  /// The primary key's name for messages: those of its columns.
  var keyName: String { keyColumns.map(name).joined(separator: ", ") }

  /// The name of that column.
  func name(_ index: Int) -> String {
    index < columns.count ? columns[index].name : extras.name(index - columns.count)
  }
}

/// Names and identifiers of the columns for the surplus fields of long records.
struct ExtraColumns: Sendable, Equatable {
  /// The `extra` columns that the table has already, in order.
  let existing: [(name: String, identifier: UInt32)]
  /// The identifier of the first one that does not exist yet.
  let nextIdentifier: UInt32
  /// Names that other columns have.
  let taken: Set<String>

  static func == (left: ExtraColumns, right: ExtraColumns) -> Bool {
    left.nextIdentifier == right.nextIdentifier && left.taken == right.taken
      && left.existing.map(\.name) == right.existing.map(\.name)
  }

  /// The identifier of the column for surplus field `index`, from 0.
  func identifier(_ index: Int) -> UInt32 {
    index < existing.count
      ? existing[index].identifier : nextIdentifier &+ UInt32(index - existing.count)
  }

  /// Its name: `extra1`, `extra2` and so on, with a suffix when the input itself has such a column.
  func name(_ index: Int) -> String {
    if index < existing.count { return existing[index].name }
    var name = "extra\(index + 1)"
    var suffix = 2
    while taken.contains(name) {
      name = "extra\(index + 1)_\(suffix)"
      suffix += 1
    }
    return name
  }
}
