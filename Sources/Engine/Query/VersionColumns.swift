/// The columns of a table in two versions, for a filter that is asked about one of them and means the same in
/// the other.
struct VersionColumns {
  private let own: TableSchema
  private let other: TableSchema
  /// Whether `own` is of the later version.
  private let isNewer: Bool

  init(own: TableSchema, other: TableSchema, isNewer: Bool) {
    (self.own, self.other, self.isNewer) = (own, other, isNewer)
  }

  /// - Throws: `QueryError` when neither version has the column, or the test fits its type in neither.
  func compile(_ test: ColumnTest, isNegated: Bool) throws(QueryError) -> CompiledPredicate {
    guard let found = find(test.column) else {
      // Says which there are.
      let (newest, oldest) = isNewer ? (own, other) : (other, own)
      let known = newest.columns.map(\.name)
      throw QueryError(
        position: test.columnPosition,
        reason: ColumnNames.unknown(
          test.column,
          among: known + oldest.columns.map(\.name).filter { !known.contains($0) }))
    }
    // In the order in which they are tried: what the later version takes the values for.
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
    // It has to make sense in the other version then.
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

  /// A column by the name that the later version has for it, or else the earlier one.
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
        // Another column of the name, which was dropped.
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
  /// Whether every value is one of another column's type too, by its spelling.
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
