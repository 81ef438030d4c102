/// How a cell looks in the search for a dialect or a header: much less exact than the types of columns, and
/// fast.
///
/// Thread rule: a plain value, `Sendable`.
enum CellShape: UInt8, Sendable {
  /// Only blanks.
  case empty
  /// `NA`, `null`, `-` and similar: a missing value.
  case missing
  /// A number in any notation: `-1.5e3`, `1,234.50`, `1.234,5`, `1 234`, `nan`.
  case number
  /// An amount: `$1,234.56`, `(5.00) EUR`.
  case money
  /// `12.5 %`
  case percent
  /// A date, a time or both, in figures or with the name of a month.
  case date
  /// Only figures and separators, as in telephone numbers and versions.
  case figures
  case uuid
  /// `true`, `yes` and their opposites.
  case bool
  /// Has a scheme, or begins with `www.`.
  case url
  case email
  /// Begins with `/`, `./`, `~/` or a drive, and has another separator.
  case path
  /// An object or an array.
  case json
  /// Letters and figures mixed, without blanks: at least four bytes with two figures.
  case code
  case text

  /// Whether columns of values have such cells, and names of columns do not.
  var isTyped: Bool {
    switch self {
    case .number, .money, .percent, .date, .figures, .uuid: true
    default: false
    }
  }

  /// Whether the cell has no value.
  var isBlank: Bool { self == .empty || self == .missing }

  /// Texts that only values have.
  var isSpecial: Bool {
    switch self {
    case .url, .email, .path, .json, .code, .uuid, .money, .date, .percent: true
    default: false
    }
  }

  /// Whether a cell has only blanks.
  static func isEmpty(_ cell: String?) -> Bool {
    cell?.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 } ?? true
  }

  init(_ cell: String?) {
    guard let cell else {
      self = .empty
      return
    }
    var copy = cell
    self = copy.withUTF8 { CellShape($0) }
  }

  /// - Complexity: O(bytes); for plain text only the first few are read.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    var cell = bytes[...]
    while let byte = cell.first, byte == 0x20 || byte == 0x09 { cell.removeFirst() }
    while let byte = cell.last, byte == 0x20 || byte == 0x09 { cell.removeLast() }
    guard let first = cell.first else {
      self = .empty
      return
    }
    if cell.count <= 8, let word = Self.word(cell) {
      self = word
    } else if cell.count <= 48, let typed = Self.typed(cell) {
      self = typed
    } else if first == 0x7B || first == 0x5B, Self.isJSON(cell) {
      self = .json
    } else {
      self = Self.address(cell) ?? (Self.isCode(cell) ? .code : .text)
    }
  }

  // MARK: Words

  /// Words for missing values, in lower case.
  private static let missingWords = [
    "na", "n/a", "#n/a", "null", "none", "nil", "-", "--", "\\n", "?", ".", "...", "(null)", "<na>",
    "n.a.",
    "*", "**", "..", ":", "[x]", "[c]", "[z]",
  ].map { Array($0.utf8) }
  private static let boolWords = ["true", "false", "yes", "no"].map { Array($0.utf8) }
  private static let numberWords = ["nan", "inf", "-inf", "+inf", "infinity", "#div/0!"]
    .map { Array($0.utf8) }
  /// The first bytes of all these words.
  private static let firstBytes: Set<UInt8> = Set(
    (missingWords + boolWords + numberWords).compactMap(\.first))

  private static func word(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> CellShape? {
    // Most cells begin with a figure, or with another byte.
    guard let first = cell.first, first < 0x30 || first > 0x39,
      firstBytes.contains(lowercase(first))
    else { return nil }
    func isAmong(_ words: [[UInt8]]) -> Bool {
      words.contains { word in
        word.count == cell.count && zip(word, cell).allSatisfy { $0 == lowercase($1) }
      }
    }
    if isAmong(missingWords) { return .missing }
    if isAmong(boolWords) { return .bool }
    return isAmong(numberWords) ? .number : nil
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  // MARK: Numbers and dates

  private static func typed(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> CellShape? {
    guard cell.contains(where: { $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    if let number = NumberShape(cell) { return number.shape }
    if isUUID(cell) { return .uuid }
    if DateShape.fits(cell) { return .date }
    return cell.allSatisfy(isFigures) ? .figures : nil
  }

  private static func isFigures(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ","),
      UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: " "), UInt8(ascii: "("),
      UInt8(ascii: ")"):
      true
    default: false
    }
  }

  private static func isUUID(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var digits = cell
    if digits.first == UInt8(ascii: "{"), digits.last == UInt8(ascii: "}") {
      digits = digits.dropFirst().dropLast()
    }
    guard digits.count == 36 else { return false }
    return digits.enumerated().allSatisfy { place, byte in
      if [8, 13, 18, 23].contains(place) { return byte == UInt8(ascii: "-") }
      let lower = byte | 0x20
      return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66)
    }
  }

  // MARK: Texts of a special shape

  private static func isJSON(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    cell.last == (cell.first == 0x7B ? 0x7D : 0x5D) && cell.count > 2
      && (cell.contains(0x22) || cell.contains(0x3A) || cell.contains(0x2C))
  }

  private static func address(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> CellShape? {
    let bytes = cell.prefix(2048)
    if bytes.contains(where: { $0 == 0x20 }) {
      // The scheme comes before any blank.
      return bytes.prefix { $0 != 0x20 }.hasScheme ? .url : nil
    }
    if bytes.hasScheme || bytes.starts(with: "www.".utf8) { return .url }
    if let at = bytes.firstIndex(of: 0x40), at > bytes.startIndex,
      let dot = bytes.lastIndex(of: 0x2E), dot > at + 1, dot < bytes.endIndex - 1
    {
      return .email
    }
    let slashes = bytes.filter { $0 == 0x2F || $0 == 0x5C }.count
    let beginsPath =
      bytes.first == 0x2F || bytes.starts(with: "./".utf8) || bytes.starts(with: "~/".utf8)
      || (bytes.count > 2 && bytes[bytes.startIndex + 1] == 0x3A
        && bytes[bytes.startIndex + 2] == 0x5C)
    return beginsPath && slashes > 1 ? .path : nil
  }

  private static func isCode(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard cell.count >= 4, cell.count <= 40 else { return false }
    var digits = 0
    var letters = 0
    for byte in cell {
      switch byte {
      case 0x30...0x39: digits += 1
      case 0x41...0x5A, 0x61...0x7A: letters += 1
      case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"),
        UInt8(ascii: "#"):
        break
      default: return false
      }
    }
    return digits >= 2 && letters >= 1
  }

  /// Whether a cell consists of hexadecimal numbers of at least four digits, with figures and letters among
  /// them or figures alone: `005A`, `0041..005A`, `0023 FE0F`.
  static func isHexadecimal(_ cell: String) -> Bool {
    var length = 0
    var hasFigures = false
    for byte in cell.utf8 {
      switch byte {
      case 0x30...0x39:
        hasFigures = true
        length += 1
      case 0x41...0x46, 0x61...0x66: length += 1
      case UInt8(ascii: "."), UInt8(ascii: " "), UInt8(ascii: "-"):
        // A number of fewer digits may be another word.
        if length > 0, length < 4 { return false }
        length = 0
      default: return false
      }
    }
    return hasFigures && (length == 0 || length >= 4)
  }

  /// A cell with `A` for every capital letter, `a` for every small letter and `9` for every figure: codes of
  /// one kind have the same pattern.
  static func pattern(_ cell: String) -> [UInt8] {
    cell.utf8.map { byte in
      switch byte {
      case 0x30...0x39: UInt8(ascii: "9")
      case 0x41...0x5A: UInt8(ascii: "A")
      case 0x61...0x7A: UInt8(ascii: "a")
      default: byte
      }
    }
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// Whether it begins with letters and `://`.
  fileprivate var hasScheme: Bool {
    guard let colon = firstIndex(of: 0x3A), colon > startIndex, endIndex - colon > 3,
      self[colon + 1] == 0x2F, self[colon + 2] == 0x2F
    else { return false }
    return true
  }
}
