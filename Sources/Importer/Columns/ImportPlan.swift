import Engine

/// What is known of an input before its records are parsed: which field becomes which column.
///
/// Thread rule: `Sendable`; the parser threads share one.
struct ImportPlan: Sendable {
  struct PlannedColumn: Sendable, Equatable {
    let name: String
    /// The number under which clusters keep the column.
    let identifier: UInt32
    /// The type given by name; values that do not fit are rejected. Nil: inferred.
    let strictType: ColumnType?
    /// How they are spelled; nil: as canonical ones.
    var strictNotation: Notation? = nil
    /// Spellings that are null here, and what the other values must be then.
    var missing: MissingValues? = nil
    /// How its values may be read, where their classes do not tell it.
    var candidates: [ReadingCandidate] = []
    let isNullable: Bool
    /// True for a column that the table does not have yet.
    let isNew: Bool
    /// True for a new one whose type nobody has given by name.
    let isGuessed: Bool

    /// How values have to be read where their classes do not say whether they are.
    var scanned: Reading? {
      guard let strictType, strictNotation != nil || !strictType.hasClasses else { return nil }
      return Reading(strictType, strictNotation)
    }

    /// The column as it is made.
    var definition: Column { Column(name, strictType ?? .text, notation: strictNotation) }
  }

  /// A rule, ready for the input's records.
  struct PlannedRule: Sendable {
    let expression: String
    /// True of records that are to be refused.
    let refusal: RecordTest
  }

  let file: String
  let dialect: Dialect
  let ragged: ImportOptions.Ragged
  /// The header's fields, so that it is not taken for a record when it comes again; empty: it may.
  let header: [[UInt8]?]
  /// Whether an empty field behind the last column is dropped.
  let endsWithDelimiter: Bool
  let nulls: [[UInt8]]
  /// Whether blanks around fields are left out.
  var trimsFields = false
  /// Fields of a record.
  let fieldCount: Int
  /// Which of them become columns, in the order of the columns; nil: all, in their own.
  let fields: [Int]?
  /// One for each field of a record that becomes one.
  let columns: [PlannedColumn]
  /// Columns that no field is for: the last of `columns`; nil: none.
  var added: AddedValues? = nil
  /// What every record has to be.
  var rules: [PlannedRule] = []
  /// Which of them is the table's primary key; nil: it has none.
  let keyColumn: Int?
  /// The columns for surplus fields, numbered on as they are needed.
  let extras: ExtraColumns
  /// Whether parsers encode clusters, or hand over rows that fill up shared ones.
  let encodes: Bool
  /// Records in a batch; nil: all in one.
  let batchRecords: Int?
  /// What a record that is not UTF-8 likely is, by the beginning of the input.
  var likelyEncoding: String? = nil

  /// The number of the column that a field of a record, surplus ones included, goes into.
  func identifier(_ index: Int) -> UInt32 {
    index < columns.count ? columns[index].identifier : extras.identifier(index - columns.count)
  }

  /// Its name.
  func name(_ index: Int) -> String {
    index < columns.count ? columns[index].name : extras.name(index - columns.count)
  }
}

/// Names and numbers of the columns that take the surplus fields of long records.
struct ExtraColumns: Sendable, Equatable {
  /// `extra` columns that the table has already, in order.
  let existing: [(name: String, identifier: UInt32)]
  /// The number of the first one that is not there yet.
  let nextIdentifier: UInt32
  /// Names that are taken otherwise.
  let taken: Set<String>

  static func == (left: ExtraColumns, right: ExtraColumns) -> Bool {
    left.nextIdentifier == right.nextIdentifier && left.taken == right.taken
      && left.existing.map(\.name) == right.existing.map(\.name)
  }

  /// The number of the column for surplus field `index`, from 0.
  func identifier(_ index: Int) -> UInt32 {
    index < existing.count
      ? existing[index].identifier : nextIdentifier &+ UInt32(index - existing.count)
  }

  /// Its name: `extra1`, `extra2` and so on, with a suffix where the input has such a column itself.
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
