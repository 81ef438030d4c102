/// The words that a shell can offer for a value, and that a mistyped one is compared with.
enum Completion: Sendable, Equatable {
  case none
  case files
  /// The names of the commands.
  case commands
  /// These words; others may be allowed, too.
  case words([String])

  var words: [String] {
    if case .words(let words) = self { return words }
    return []
  }
}

/// Converts the text of an option to a value.
struct ValueKind<Value: Sendable>: Sendable {
  /// The placeholder for the value in the help, such as `FILE`.
  let placeholder: String
  /// The allowed values, in words that fit after "expected".
  let allowed: String
  /// The words that a shell can offer for it.
  var completion = Completion.none
  /// A message about a refused text, when `allowed` does not suffice; nil when it always does.
  var refusal: (@Sendable (String) -> String?)? = nil
  /// The value, or nil when the text is not one.
  let parse: @Sendable (String) -> Value?

  /// The same kind under another placeholder.
  func shown(as placeholder: String) -> ValueKind {
    ValueKind(
      placeholder: placeholder, allowed: allowed, completion: completion, refusal: refusal,
      parse: parse)
  }
}

// MARK: Numbers

/// A share of a whole, 0 to 100.
struct Percent: Sendable, Equatable {
  let value: Double
}

extension ValueKind where Value == Int {
  /// 0 or more.
  static var count: ValueKind {
    ValueKind(placeholder: "N", allowed: "a whole number, 0 or more", parse: wholeNumber)
  }

  /// 1 or more.
  static var positiveCount: ValueKind {
    ValueKind(placeholder: "N", allowed: "a whole number, 1 or more") { text in
      wholeNumber(text).flatMap { $0 > 0 ? $0 : nil }
    }
  }

  /// From 1 to a number that only a slip of the finger exceeds.
  static func positiveCount(upTo most: Int) -> ValueKind {
    ValueKind(placeholder: "N", allowed: "a whole number from 1 to \(most)") { text in
      wholeNumber(text).flatMap { (1...most).contains($0) ? $0 : nil }
    }
  }

  /// Bytes: `70MB`, `512KiB`, `1.5GB`, or a plain number.
  static var size: ValueKind {
    ValueKind(
      placeholder: "SIZE", allowed: "a size such as 70MB, 512KiB, 1GiB or a number of bytes",
      parse: byteCount)
  }
}

extension ValueKind where Value == Percent {
  static var percent: ValueKind {
    ValueKind(placeholder: "P%", allowed: "a percentage from 0% to 100%", parse: percentage)
  }
}

/// Digits only, so that `+5`, `1e3` and `1_000` are refused.
@Sendable private func wholeNumber(_ text: String) -> Int? {
  guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int(text)
}

@Sendable private func percentage(_ text: String) -> Percent? {
  guard text.hasSuffix("%") else { return nil }
  let number = text.dropLast()
  guard let first = number.utf8.first, (0x30...0x39).contains(first),
    number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
    let value = Double(number), value <= 100
  else { return nil }
  return Percent(value: value)
}

private let sizeUnits: [String: Int] = [
  "": 1, "b": 1,
  "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
  "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
]

@Sendable private func byteCount(_ text: String) -> Int? {
  let number = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
  let name = text[number.endIndex...].drop { $0 == " " }.lowercased()
  guard let unit = sizeUnits[name] else { return nil }
  let parts = number.split(separator: ".", omittingEmptySubsequences: false)
  guard parts.count <= 2, let whole = wholeNumber(String(parts[0])) else { return nil }
  var (bytes, overflow) = whole.multipliedReportingOverflow(by: unit)
  if overflow { return nil }
  if parts.count == 2 {
    // At most three digits, so the fraction is exact; a fraction of a byte would make no sense.
    guard unit > 1, parts[1].count <= 3, let digits = wholeNumber(String(parts[1])) else {
      return nil
    }
    var scale = 1
    for _ in parts[1] { scale *= 10 }
    let (fraction, tooLarge) = (digits * (unit / scale)).addingReportingOverflow(
      digits * (unit % scale) / scale)
    if tooLarge { return nil }
    (bytes, overflow) = bytes.addingReportingOverflow(fraction)
    if overflow { return nil }
  }
  return bytes
}

/// A count, or everything there is.
enum CountOrAll: Sendable, Equatable {
  case count(Int)
  case all
}

extension ValueKind where Value == CountOrAll {
  static var countOrAll: ValueKind {
    ValueKind(
      placeholder: "N|all", allowed: "a whole number, 1 or more, or \"all\"",
      completion: .words(["all"])
    ) { text in
      if text == "all" { return .all }
      return wholeNumber(text).flatMap { $0 > 0 ? .count($0) : nil }
    }
  }
}

/// The number of tolerated failures: a count or a share.
enum Tolerance: Sendable, Equatable {
  case count(Int)
  case percent(Percent)
  case unlimited
}

extension ValueKind where Value == Tolerance {
  /// A count or a share.
  static var portion: ValueKind {
    ValueKind(placeholder: "N|N%", allowed: "a whole number, or a percentage such as 90%") { text in
      if let share = percentage(text) { return .percent(share) }
      return wholeNumber(text).map { .count($0) }
    }
  }

  static var tolerance: ValueKind {
    ValueKind(
      placeholder: "N|N%|unlimited",
      allowed: "a whole number, a percentage such as 1%, or \"unlimited\"",
      completion: .words(["unlimited"])
    ) { text in
      if text == "unlimited" { return .unlimited }
      if let share = percentage(text) { return .percent(share) }
      return wholeNumber(text).map { .count($0) }
    }
  }
}
