/// The treatment of a record whose key an object of the table has already. Records of one input with equal
/// keys follow the same rule, in the order of the input.
///
/// Thread rule: a plain value, `Sendable`.
public enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The record is rejected.
  case error
  /// The record is left out; the object stays as it is.
  case skip
  /// The object gets all values of the record; columns that the input does not have get their default,
  /// or null without one.
  case replace
  /// The object gets the values of the record. Columns that the input does not have stay as they are, and so
  /// do columns for surplus fields that the record does not have.
  case update

  /// Whether a record may be left out of the table because of its key.
  var leavesOut: Bool { self == .error || self == .skip }
}

/// The rule for records with the keys of existing objects.
struct ConflictRule: Sendable, Equatable {
  let policy: ConflictPolicy
  /// A blank field leaves the object's value.
  var ignoresBlanks = false
  /// A record changes an object only if its value in this column comes behind the object's.
  var newerThan: String? = nil
}
