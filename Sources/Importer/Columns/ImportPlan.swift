import Engine

/// What is known about an input before its records are parsed: which field becomes which column.
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
    /// Spellings that mean null here, and what the other values must then be.
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
    /// True of records that are to be refused.
    let refusal: RecordTest
  }

  /// What records have to be to be imported at all.
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
  /// What every record has to be.
  var rules: [PlannedRule] = []
  /// Which records are asked for; nil: all.
  var filter: PlannedFilter? = nil
  /// The index of the table's primary key; nil: it has none.
  let keyColumn: Int?
  /// The columns for surplus fields, numbered as they are needed.
  let extras: ExtraColumns
  /// Whether parsers encode clusters, or hand over rows for shared ones.
  let encodes: Bool
  /// Records in a batch; nil: all in one.
  let batchRecords: Int?
  /// Whether it is to be known where the record of each row begins.
  var keepsPlaces = false
  /// The likely encoding of a record that is not UTF-8, from the beginning of the input.
  var likelyEncoding: String? = nil

  /// The identifier of the column for a field of a record; surplus fields included.
  func identifier(_ index: Int) -> UInt32 {
    index < columns.count ? columns[index].identifier : extras.identifier(index - columns.count)
  }

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
