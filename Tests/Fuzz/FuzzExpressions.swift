@testable import Engine

/// Any text as a filter: it is refused with a position, or has the same meaning when it is written out
/// and read again, and finds the objects that a look at each one finds.
@c(LLVMFuzzerTestOneInput)
public func fuzzExpressions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(
    decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  let predicate: Predicate
  do {
    predicate = try Predicate(text)
  } catch {
    expectPlace(error, text)
    return 0
  }
  let written = predicate.written
  do {
    let again = try Predicate(written)
    if again != predicate { found("\(written) is \(again), not \(predicate)") }
  } catch {
    // `a not in (…)` is written with the word before it, one deeper.
    if !error.reason.contains("nested more than") { found("\(written): \(error)") }
  }
  do {
    let query = Query(predicate)
    guard (try? query.explain(in: objects.table)) != nil else {
      expectPlace(try refusal(query), text)
      return 0
    }
    let keys = try query.keys(in: objects.table)
    let slow = objects.rows.filter { SlowQuery.matches(predicate, $0) == true }.map(\.key)
    if keys != slow { found("\(written): \(keys) instead of \(slow)") }
    let indexed = try ResultReader(query, objects.table, indexUse: .always).count()
    if indexed != slow.count { found("\(written): \(indexed) by indexes, not \(slow.count)") }
  } catch {
    found("\(written): \(error)")
  }
  return 0
}

/// The error of a query that does not fit the table.
private func refusal(_ query: Query) throws -> QueryError {
  do {
    _ = try query.explain(in: objects.table)
  } catch let error as QueryError {
    return error
  }
  found("refused once, and not again")
}

private func expectPlace(_ error: QueryError, _ text: String) {
  guard let position = error.position, position >= 1, position <= text.count + 1 else {
    found("a place outside the text: \(error)")
  }
}

// MARK: A table

private struct Objects {
  let database: Database
  let table: Table
  let rows: [Row]
}

nonisolated(unsafe) private let objects = makeObjects()

private func makeObjects() -> Objects {
  do {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Database.Options.tiny)
    try database.write { transaction in
      try transaction.createTable(
        "t",
        columns: [
          Column("i", .int), Column("d", .double), Column("t", .text), Column("b", .bool),
          Column("day", .date), Column("moment", .dateTime), Column("a b", .text),
        ], indexes: ["i", "t", "d"])
      let table = try transaction.table("t")
      let texts = [
        "", "a", "ab", "A%", "straße", "STRASSE", "it's", "é", "e\u{301}", "日本\n", "10", "_",
      ]
      for row in 0..<24 {
        var values: [String: Value] = ["a b": .text("x\(row % 3)")]
        if row % 7 != 2 { values["i"] = .int(Int64(row % 10 - 3)) }
        let double: Double = row % 11 == 3 ? .nan : Double(row % 9) / 2 - 1
        if row % 8 != 1 { values["d"] = .double(double) }
        if row % 5 != 4 { values["t"] = .text(texts[row % texts.count]) }
        if row % 6 != 5 { values["b"] = .bool(row % 2 == 0) }
        if let day = CalendarDate(daysSince1970: 17_000 + row * 40) { values["day"] = .date(day) }
        let moment = DateTime(microsecondsSince1970: Int64(row) * 86_400_000_000 * 700)
        if let moment { values["moment"] = .dateTime(moment) }
        try table.insert(values)
      }
    }
    let table = try database.snapshot().table("t")
    var rows: [Row] = []
    try table.forEachRow { rows.append($0) }
    return Objects(database: database, table: table, rows: rows)
  } catch {
    found("the table cannot be made: \(error)")
  }
}

// MARK: Writing out

extension Predicate {
  /// An expression with the same meaning.
  fileprivate var written: String {
    switch self {
    case .test(let test): test.written
    case .not(let part): "not \(part.asPart)"
    case .all(let parts): parts.map(\.asPart).joined(separator: " and ")
    case .any(let parts): parts.map(\.asPart).joined(separator: " or ")
    }
  }

  private var asPart: String {
    switch self {
    case .test, .not: written
    case .all, .any: "(\(written))"
    }
  }
}

extension ColumnTest {
  fileprivate var written: String {
    // A combining mark behind a backquote would hide it.
    let doubled = column.unicodeScalars.flatMap { $0 == "`" ? [$0, $0] : [$0] }
    let name = "`" + String(String.UnicodeScalarView(doubled)) + "`"
    let option = ignoresCase ? "[c]" : ""
    switch question {
    case .compare(let comparison, let value):
      return "\(name) \(comparison.rawValue)\(option) \(value.written)"
    case .isIn(let values):
      return "\(name) in\(option) (\(values.map(\.written).joined(separator: ", ")))"
    case .isBetween(let low, let high):
      return "\(name) between\(option) \(low.written) and \(high.written)"
    case .contains(let text): return "\(name) contains\(option) \(Value.text(text).written)"
    case .beginsWith(let text): return "\(name) begins with\(option) \(Value.text(text).written)"
    case .endsWith(let text): return "\(name) ends with\(option) \(Value.text(text).written)"
    case .isLike(let pattern, let escape):
      let end = escape.map { " escape \(Value.text(String($0)).written)" } ?? ""
      return "\(name) like\(option) \(Value.text(pattern).written)\(end)"
    case .isNull: return "\(name) is null"
    case .isNaN: return "\(name) is nan"
    case .isTrue: return name
    }
  }
}

extension Value {
  fileprivate var written: String {
    let spelled = String(decoding: spelling, as: UTF8.self)
    switch self {
    case .null: return "null"
    case .double(let double):
      if double.isInfinite { return double < 0 ? "-1e999" : "1e999" }
      return Value(spelling: spelled, type: .int) == nil ? spelled : spelled + "e0"
    case .decimal:
      return Value(spelling: spelled, type: .int) == nil ? spelled : spelled + ".0"
    case .text(let text):
      // A combining mark behind a quote would join it.
      return "\"" + text.unicodeScalars.map { "\\u{\(String($0.value, radix: 16))}" }.joined()
        + "\""
    default: return spelled
    }
  }
}
