import Foundation

@testable import Engine

/// The classes of spellings in the plainest form: the twin of `SpellingClass`.
enum SlowClassifier {
  static func classify(_ bytes: [UInt8]) -> TypeSet {
    // A character for each byte, so that bytes that are not UTF-8 are no obstacle.
    let all = String(bytes.map { Character(UnicodeScalar($0)) })
    let text = all.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    if ["true", "True", "TRUE", "false", "False", "FALSE"].contains(text) { return .bool }
    if text == "NaN" || text == "nan" { return .double }
    let size = text.hasPrefix("-") ? String(text.dropFirst()) : text
    if ["inf", "Inf", "Infinity"].contains(size) { return .longDecimal }
    if isDate(text) { return .date }
    if isDateTime(text) { return .dateTime }
    // A point behind a whole number.
    if text.hasSuffix("."), !text.dropLast().contains(where: { ".eE".contains($0) }) {
      return number(String(text.dropLast())) == .text ? .text : .longDecimal
    }
    return number(text)
  }

  private static func isDigits(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value >= 48 && $0.value <= 57 }
  }

  private static func number(_ text: String) -> TypeSet {
    var rest = Substring(text)
    if rest.hasPrefix("-") || rest.hasPrefix("+") { rest = rest.dropFirst() }
    var exponent: Substring?
    if let mark = rest.firstIndex(where: { $0 == "e" || $0 == "E" }) {
      exponent = rest[rest.index(after: mark)...]
      rest = rest[..<mark]
    }
    let parts = rest.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first else { return .text }
    if parts.count == 1 && !isDigits(whole) { return .text }
    if parts.count == 2 && !isDigits(parts[1]) { return .text }
    if !whole.isEmpty && !isDigits(whole) { return .text }
    if whole.count > 1 && whole.hasPrefix("0") { return .text }
    if let exponent {
      let digits =
        exponent.hasPrefix("-") || exponent.hasPrefix("+") ? exponent.dropFirst() : exponent
      if !isDigits(digits) { return .text }
    }
    if parts.count == 1, exponent == nil, let int = Int64(text), !(text.hasPrefix("-") && int == 0)
    {
      return int >= -9_007_199_254_740_992 && int <= 9_007_199_254_740_992 ? .int : .bigInt
    }
    guard let value = Double(text), value.isFinite else { return .text }
    let digits = parts.joined().drop { $0 == "0" }
    if digits.count <= 17 { return .double }
    if parts.count == 1, exponent == nil { return .longDecimal }
    if digits.reversed().drop(while: { $0 == "0" }).count <= 17 { return .double }
    let printed = String(format: "%.\(digits.count - 1)e", abs(value)).prefix { $0 != "e" }
    return printed.filter { $0 != "." } == digits.filter { $0 != "." } ? .double : .longDecimal
  }

  private static func isDate(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts.map(\.count) == [4, 2, 2], parts.allSatisfy({ isDigits($0) }),
      let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
    else { return false }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return month >= 1 && month <= 12 && day >= 1 && day <= lengths[month - 1]
  }

  private static func isDateTime(_ text: String) -> Bool {
    guard text.count >= 16, isDate(String(text.prefix(10))) else { return false }
    let separator = text.dropFirst(10).prefix(1)
    guard separator == "T" || separator == " " else { return false }
    var time = String(text.dropFirst(11))
    var offset = 0
    if time.hasSuffix("Z") {
      time.removeLast()
    } else if let sign = time.dropLast(5).last, sign == "+" || sign == "-" {
      let zone = time.suffix(5).split(separator: ":", omittingEmptySubsequences: false)
      guard let minutes = clock(zone, limit: [23, 59]) else { return false }
      offset = sign == "+" ? minutes : -minutes
      time.removeLast(6)
    }
    let halves = time.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false)
    if halves.count == 2 {
      guard parts.count == 3, isDigits(halves[1]), halves[1].count <= 6 else { return false }
    }
    let limits = parts.count == 3 ? [23, 59, 59] : [23, 59]
    guard parts.count == limits.count, let minutes = clock(parts, limit: limits) else {
      return false
    }
    // Years 0 to 9999, in UTC.
    if text.hasPrefix("0000-01-01"), minutes - offset < 0 { return false }
    if text.hasPrefix("9999-12-31"), minutes - offset >= 1440 { return false }
    return true
  }

  /// Hours and minutes as minutes.
  private static func clock(_ parts: [Substring], limit: [Int]) -> Int? {
    guard parts.count == limit.count else { return nil }
    for (part, most) in zip(parts, limit) {
      guard part.count == 2, isDigits(part), let value = Int(part), value <= most else {
        return nil
      }
    }
    guard let hours = Int(parts[0]), let minutes = Int(parts[1]) else { return nil }
    return hours * 60 + minutes
  }
}
