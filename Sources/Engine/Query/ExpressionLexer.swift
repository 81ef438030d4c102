/// Splits an expression into words, numbers, texts and signs.
struct ExpressionLexer {
  enum Token: Equatable {
    case word(String)
    /// A name in backquotes.
    case name(String)
    case number(Value)
    case text(String)
    case sign(String)
    case end
  }

  struct Placed: Equatable {
    let token: Token
    /// In characters, from 1.
    let position: Int
  }

  private var text: [Character] = []
  /// Where each character is in the input, and where the input ends.
  private var places: [Int] = []
  private var index = 0

  init(_ given: String) {
    var place = 1
    for character in given {
      text += Self.separated(character)
      while places.count < text.count { places.append(place) }
      place += 1
    }
    places.append(place)
  }

  /// A quote or a backslash forms one character with a following combining mark, and with a preceding sign
  /// that is written over it (U+0600). Here each is a character of its own, so they are separated.
  private static func separated(_ character: Character) -> [Character] {
    let scalars = character.unicodeScalars
    guard scalars.count > 1, scalars.contains(where: isMark) else { return [character] }
    var separated: [Character] = []
    var rest = scalars[...]
    while let mark = rest.firstIndex(where: isMark) {
      separated += String(rest[..<mark])
      separated.append(Character(rest[mark]))
      rest = rest[rest.index(after: mark)...]
    }
    return separated + String(rest)
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\"" || scalar == "'" || scalar == "`" || scalar == "\\"
  }

  /// Compared by scalars: U+1FEF, a letter's accent, is a character equal to the backquote.
  private static func isQuote(_ character: Character) -> Bool {
    character.unicodeScalars.count == 1 && character.unicodeScalars.allSatisfy(isMark)
      && character != "\\"
  }

  /// The position of the next character, from 1.
  private var place: Int { places[index] }

  /// The next token; at the end always `.end`.
  mutating func next() throws(QueryError) -> Placed {
    while let character = peek, character.isWhitespace { index += 1 }
    let position = place
    guard let character = peek else { return Placed(token: .end, position: position) }
    let token: Token
    if Self.isQuote(character) {
      let content = try quoted(character)
      if character == "`", content.isEmpty {
        throw QueryError(
          position: position, reason: "a column's name is missing between backquotes")
      }
      token = character == "`" ? .name(content) : .text(content)
    } else if Self.isDigit(character) || Self.beginsNumber(text[index...]) {
      if let date = takeDate() {
        token = .text(date)
      } else {
        token = try number()
      }
    } else if Self.isWordCharacter(character) {
      token = .word(take(while: Self.isWordCharacter))
    } else {
      token = .sign(try sign())
    }
    return Placed(token: token, position: position)
  }

  private var peek: Character? { index < text.count ? text[index] : nil }

  private mutating func take(while isPart: (Character) -> Bool) -> String {
    let start = index
    while let character = peek, isPart(character) { index += 1 }
    return String(text[start..<index])
  }

  private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

  /// A sign or a point followed by a digit.
  private static func beginsNumber(_ rest: ArraySlice<Character>) -> Bool {
    var rest = rest
    if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
    if rest.first == "." { rest.removeFirst() }
    return rest.first.map(isDigit) ?? false
  }

  private static func isWordCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "."
      || character == "$"
  }

  // MARK: Dates

  /// A date like `2018-08-03` without quotes, which can mean nothing else; nil when there is none.
  private mutating func takeDate() -> String? {
    guard index + 10 <= text.count else { return nil }
    let date = String(text[index..<index + 10])
    guard Value(spelling: date, type: .date) != nil,
      index + 10 == text.count || !Self.isWordCharacter(text[index + 10])
    else { return nil }
    index += 10
    return date
  }

  // MARK: Numbers

  private mutating func number() throws(QueryError) -> Token {
    let position = place
    var spelling = ""
    if peek == "-" || peek == "+" {
      spelling.append(text[index])
      index += 1
    }
    // In `1e-3`, a sign belongs to the number only after its exponent.
    while let character = peek {
      let isExponentSign =
        (character == "-" || character == "+") && (spelling.last == "e" || spelling.last == "E")
      guard Self.isWordCharacter(character) || isExponentSign else { break }
      spelling.append(character)
      index += 1
    }
    if let int = Value(spelling: spelling, type: .int) { return .number(int) }
    if case .double(let double)? = Value(spelling: spelling, type: .double) {
      // More digits than a double has are kept, for columns of decimals.
      if let decimal = ExactDecimal(spelling), decimal != ExactDecimal(double.description) {
        return .number(.decimal(decimal))
      }
      return .number(.double(double))
    }
    throw QueryError(
      position: position,
      reason: "'\(spelling)' is not a number; write numbers like 42, -1.5 or 1e6, and texts in "
        + "quotes")
  }

  // MARK: Quotes

  private mutating func quoted(_ quote: Character) throws(QueryError) -> String {
    let start = place
    index += 1
    var content = ""
    while let character = peek {
      index += 1
      if character == quote, Self.isQuote(character) {
        // A doubled quote is one quote of the text.
        guard peek == quote, peek.map(Self.isQuote) == true else { return content }
        index += 1
        content.append(quote)
      } else if character == "\\", quote != "`" {
        content.unicodeScalars.append(try escaped())
      } else {
        content.append(character)
      }
    }
    throw QueryError(position: start, reason: "the closing \(quote) is missing")
  }

  private mutating func escaped() throws(QueryError) -> Unicode.Scalar {
    let position = places[index - 1]
    guard let character = peek else {
      throw QueryError(position: position, reason: "the text ends behind a backslash")
    }
    index += 1
    switch character {
    case "\\": return "\\"
    case "\"": return "\""
    case "'": return "'"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "0": return "\0"
    case "u":
      guard peek == "{" else { break }
      index += 1
      let digits = take { $0 != "}" }
      guard peek == "}", digits.utf8.count <= 8, digits.allSatisfy(\.isHexDigit),
        let value = UInt32(digits, radix: 16),
        let scalar = Unicode.Scalar(value)
      else { break }
      index += 1
      return scalar
    default: break
    }
    throw QueryError(
      position: position,
      reason:
        "an unknown escape; write \\\\ for a backslash itself (known: \\\" \\' \\n \\r \\t \\0 "
        + "\\u{1F600})")
  }

  // MARK: Signs

  private mutating func sign() throws(QueryError) -> String {
    let position = place
    let character = text[index]
    index += 1
    let both = peek.map { String([character, $0]) } ?? ""
    if ["==", "!=", "<>", "<=", ">=", "&&", "||"].contains(both) {
      index += 1
      return both
    }
    if "=<>!(),[]-+".contains(character) { return String(character) }
    throw QueryError(
      position: position,
      reason: "'\(character)' has no meaning here; names that are no plain words stand in "
        + "backquotes, texts in quotes")
  }
}
