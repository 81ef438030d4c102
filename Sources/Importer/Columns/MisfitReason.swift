import Engine

/// Why a value does not fit the type given for its column, and which option would read it.
struct MisfitReason: CustomStringConvertible {
  let description: String

  /// - Parameter isKey: whether no option would read it, since keys are compared as they are spelled.
  init(
    _ type: ColumnType, _ notation: Notation?, _ field: [UInt8], column: String, isKey: Bool = false
  ) {
    let shown = String(decoding: field.prefix(40), as: UTF8.self) + (field.count > 40 ? "..." : "")
    description =
      "'\(shown)' in column '\(column)' is not \(type.article); " + Self.expected(type, notation)
      + (isKey ? "" : Self.hint(type, field, column))
  }

  private static func expected(_ type: ColumnType, _ notation: Notation?) -> String {
    let told = notation.map(\.summary)
    switch type {
    case .int: return "expected a whole number like \(told ?? "42")"
    case .double: return "expected a number like \(told ?? "4.5")"
    case .bool: return "expected true or false" + (told.map { ", \($0)" } ?? "")
    case .date: return "expected a date like 2018-08-03" + (told.map { ", or \($0)" } ?? "")
    case .dateTime:
      return "expected a date-time like 2018-08-03T12:34:56Z" + (told.map { ", or \($0)" } ?? "")
    case .time: return "expected a time like 12:34:56" + (told.map { ", or \($0)" } ?? "")
    case .decimal: return "expected a number like \(told ?? "12.50")"
    case .uuid: return "expected 32 hexadecimal digits"
    case .text: return "expected valid UTF-8"
    case .data: return "expected bytes"
    }
  }

  /// The options that would read a date with two digits for the year.
  private static func shortDate(_ field: [UInt8]) -> String {
    let possible = ShortDates([field.withoutBlanks])?.possible ?? []
    guard let first = possible.first else { return "" }
    let others = possible.dropFirst().map { " or '\($0)'" }.joined()
    let ending = field.contains(0x3A) ? ", with the time behind it," : ""
    return "; --date-format '\(first)'\(others)\(ending) reads it"
  }

  /// The option that would read it.
  private static func hint(_ type: ColumnType, _ field: [UInt8], _ column: String) -> String {
    field.withUnsafeBytes { field in
      switch type {
      case .date, .dateTime:
        guard KnownFormats.mayRead(field) else { return shortDate(Array(field)) }
        // All of the formats would take longer than everything else that an import does.
        let known = KnownFormats.Fitting(SpellingSigns(field))
        let orders = known.ordered.first {
          $0.dayFirst.pattern.reads(field) || $0.monthFirst.pattern.reads(field)
        }
        let certain = known.certain.first { $0.pattern.reads(field) }
        if type == .date, orders?.dayFirst.pattern.hasTime ?? certain?.pattern.hasTime ?? false {
          return "; \(ColumnList.types(column, "datetime")) takes dates with times"
        }
        if let orders {
          return "; say which of \(orders.dayFirst.text) and \(orders.monthFirst.text) it is with "
            + "--date-format"
        }
        if let certain { return "; --date-format '\(certain.text)' reads it" }
        return shortDate(Array(field))
      case .int, .double, .decimal:
        for style in [
          NumberStyle(decimal: .point, thousands: 0x2C),
          NumberStyle(decimal: .comma, thousands: 0x2E),
          NumberStyle(decimal: .point, thousands: 0x20),
          NumberStyle(decimal: .comma, thousands: 0x20),
        ] {
          guard let notation = style.notation(type),
            Value(spelling: field, as: Reading(type, notation)) != nil
          else { continue }
          return "; --decimal and --thousands tell how numbers are spelled"
        }
        return ""
      case .bool, .time, .uuid, .text, .data: return ""
      }
    }
  }
}
