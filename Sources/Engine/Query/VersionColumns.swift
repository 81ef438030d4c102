/// The columns of a table in two versions, for a filter that is applied to one of them and means the same in
/// the other.
struct VersionColumns {
  private let own: TableSchema
  private let other: TableSchema
  /// True when `own` is from the later version.
  private let isNewer: Bool

  init(own: TableSchema, other: TableSchema, isNewer: Bool) {
    (self.own, self.other, self.isNewer) = (own, other, isNewer)
  }

  /// - Throws: `QueryError` when neither version has the column, or the test fits its type in neither.
  func compile(_ test: ColumnTest, isNegated: Bool) throws(QueryError) -> CompiledPredicate {
    guard let found = find(test.column) else {
      // Throws the error that lists the columns.
      let (newest, oldest) = isNewer ? (own, other) : (other, own)
      let known = newest.columns.map(\.name)
      throw QueryError(
        position: test.columnPosition,
        reason: ColumnNames.unknown(
          test.column,
          among: known + oldest.columns.map(\.name).filter { !known.contains($0) }))
    }
    // The types of both versions in the order in which they are tried, that of the later version first.
    var readings: [Column] = []
    if let mine = found.own, let theirs = found.other, !isNewer, mine.canBeRead(as: theirs) {
      readings.append(theirs)
    }
    if let mine = found.own { readings.append(mine) }
    var failure: QueryError?
    for column in readings {
      do throws(QueryError) {
        return try TestCompiler(test, column, found.id, isNegated: isNegated).compiled()
      } catch {
        failure = failure ?? error
      }
    }
    // The test must then be valid in the other version.
    guard let theirs = found.other else {
      throw failure ?? QueryError(position: test.columnPosition, reason: "there is no such column")
    }
    do throws(QueryError) {
      _ = try TestCompiler(test, theirs, found.id, isNegated: isNegated).compiled()
    } catch {
      throw failure ?? error
    }
    if found.own == nil, case .isNull = test.question { return .constant(!isNegated) }
    return .constant(false)
  }

  /// Finds a column by its name in the later version, or otherwise in the earlier one.
  private func find(_ name: String) -> (id: UInt32, own: Column?, other: Column?)? {
    func column(_ id: UInt32, _ schema: TableSchema) -> Column? {
      schema.columnIDs.firstIndex(of: id).map { schema.columns[$0] }
    }
    let (newest, oldest) = isNewer ? (own, other) : (other, own)
    let place = newest.index(of: name)
    let earlier = oldest.index(of: name)
    let id: UInt32
    if let place {
      id = newest.columnIDs[place]
      if column(id, oldest) == nil, let earlier, column(oldest.columnIDs[earlier], newest) == nil {
        // The later version has another column of this name; the earlier one was removed.
        let ids = (new: id, old: oldest.columnIDs[earlier])
        return isNewer
          ? (ids.new, newest.columns[place], oldest.columns[earlier])
          : (ids.old, oldest.columns[earlier], newest.columns[place])
      }
    } else if let earlier {
      id = oldest.columnIDs[earlier]
    } else {
      return nil
    }
    return (id, column(id, own), column(id, other))
  }
}

extension Column {
  /// Returns whether every value's spelling is also a value of the other column's type.
  fileprivate func canBeRead(as other: Column) -> Bool {
    if reading == other.reading { return true }
    switch other.type {
    case .data: return true
    case .text: return type != .data
    case .double: return type == .int && notation == nil && other.notation == nil
    default: return false
    }
  }
}
