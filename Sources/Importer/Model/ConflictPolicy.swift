/// What happens to a record whose key an object of the table has. Records of one input with equal keys follow
/// the same rule, in the order of the input.
///
/// Thread rule: a plain value, `Sendable`.
public enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The record is rejected.
  case error
  /// The record is skipped; the object stays unchanged.
  case skip
  /// The object gets all values of the record; columns that the input lacks get their default, or null if
  /// they have none.
  case replace
  /// The object gets the values of the record. Columns that the input lacks stay unchanged, and so do columns
  /// for surplus fields that the record lacks.
  case update

  /// True when a record may be left out of the table because of its key.
  var leavesOut: Bool { self == .error || self == .skip }
}

/// The rule for records with the keys of existing objects.
struct ConflictRule: Sendable, Equatable {
  let policy: ConflictPolicy
  /// True when a blank field keeps the object's value.
  var ignoresBlanks = false
  /// A record changes an object only if its value in this column is greater than the object's.
  var newerThan: String? = nil
}
