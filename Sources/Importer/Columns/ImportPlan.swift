import Engine

/// The assignment of an input's fields to columns, with everything known before its records are parsed.
///
/// Thread rule: `Sendable`; the parser threads share one.
struct ImportPlan: Sendable {
  struct PlannedColumn: Sendable, Equatable {
    let name: String
    /// The identifier of the column in clusters.
    let identifier: UInt32
    /// The type that the user gave; values that do not fit are rejected. Nil: inferred.
    let strictType: ColumnType?
    /// How its values are spelled; nil for canonical spellings.
    var strictNotation: Notation? = nil
    /// How the values of a query are spelled for it; nil: as they are.
    var spelling: QuerySpelling? = nil
    /// Its spellings of null, and the reading of the other values.
    var missing: MissingValues? = nil
    /// The possible readings of its values, when their classes do not determine it.
    var candidates: [ReadingCandidate] = []
    let isNullable: Bool
    /// True for a column that the table lacks.
    let isNew: Bool
    /// True for a new column to which the user gave no type.
    let isGuessed: Bool

    /// The reading with which each value must be checked, when the classes do not decide it.
    var scanned: Reading? {
      guard let strictType, strictNotation != nil || !strictType.hasClasses else { return nil }
      return Reading(strictType, strictNotation)
    }

    /// The column's definition when it is created.
    var definition: Column { Column(name, strictType ?? .text, notation: strictNotation) }
  }

  /// A rule, compiled for the input's records.
  struct PlannedRule: Sendable {
    let expression: String
    /// True for records that the rule rejects.
    let refusal: RecordTest
  }

  /// The condition for records to be imported, compiled for the input's records.
  struct PlannedFilter: Sendable {
    let test: RecordTest
    /// The indices of the columns that it compares.
    let columns: [Int]
  }

  let file: String
  let dialect: Dialect
  let ragged: ImportOptions.Ragged
  /// The header's fields, so that a repeated header is not a record; empty: it may be one.
  let header: [[UInt8]?]
  /// True when an empty field after the last column is dropped.
  let endsWithDelimiter: Bool
  let nulls: [[UInt8]]
  /// True when blanks around fields are removed.
  var trimsFields = false
  /// The number of fields of a record.
  let fieldCount: Int
  /// The fields that become columns, in the order of the columns; nil: all, in their order.
  let fields: [Int]?
  /// One for each field of a record that becomes a column.
  let columns: [PlannedColumn]
  /// Columns that are not from a field: the last of `columns`; nil: none.
  var added: AddedValues? = nil
  /// Conditions for every record.
  var rules: [PlannedRule] = []
  /// The condition for records to be imported; nil: all are imported.
  var filter: PlannedFilter? = nil
  /// The indices of the primary key's columns, in its order; empty when there is no key.
  let keyColumns: [Int]
  /// The columns for surplus fields, numbered as they are needed.
  let extras: ExtraColumns
  /// True when parsers encode clusters; false when they pass rows on for shared ones.
  let encodes: Bool
  /// Records in a batch; nil: all in one.
  let batchRecords: Int?
  /// True when rows are only examined for the types of their columns, and not stored.
  var onlyFindsTypes = false
  /// True when the position of each row's record is recorded.
  var keepsPlaces = false
  /// The likely encoding of a record that is not UTF-8, from the beginning of the input.
  var likelyEncoding: String? = nil

  /// The identifier of the column for a field of a record; surplus fields included.
  func identifier(_ index: Int) -> UInt32 {
    index < columns.count ? columns[index].identifier : extras.identifier(index - columns.count)
  }

  /// The primary key's name for messages: the names of its columns.
  var keyName: String { keyColumns.map(name).joined(separator: ", ") }

  /// The name of that column.
  func name(_ index: Int) -> String {
    index < columns.count ? columns[index].name : extras.name(index - columns.count)
  }
}
