/// Dates and times, in figures or with the names of months and weekdays.
enum DateShape {
  /// Whether a cell looks like a date, a time or both.
  static func fits(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard let parts = parts(cell) else { return false }
    return parts.hasMonth ? hasDay(parts) : isInFigures(cell, parts)
  }

  /// The parts of a cell.
  private struct Parts {
    var numbers: [(value: Int, digits: Int)] = []
    /// The byte behind each number; 0 at the end.
    var marks: [UInt8] = []
    var hasMonth = false
    var hasHalf = false
  }

  private static func parts(_ cell: Slice<UnsafeBufferPointer<UInt8>>) -> Parts? {
    var parts = Parts()
    var index = cell.startIndex
    while index < cell.endIndex {
      let byte = cell[index]
      if byte >= 0x30, byte <= 0x39 {
        var end = index
        var value = 0
        while end < cell.endIndex, cell[end] >= 0x30, cell[end] <= 0x39 {
          if end - index < 9 { value = value * 10 + Int(cell[end] - 0x30) }
          end += 1
        }
        if parts.numbers.count == 9 { return nil }
        parts.numbers.append((value, end - index))
        parts.marks.append(end < cell.endIndex ? cell[end] : 0)
        index = end
      } else if isLetter(byte) {
        let end = cell[index...].firstIndex { !isLetter($0) } ?? cell.endIndex
        let isBehindNumber = index > cell.startIndex && !isLetter(cell[index - 1])
        guard take(cell[index..<end], isBehindNumber: isBehindNumber, &parts) else { return nil }
        index = end
      } else {
        switch byte {
        case 0x20, 0x2C, 0x2D, 0x2E, 0x2F, 0x3A, 0x2B, 0x27, 0x5B, 0x5D: index += 1
        default: return nil
        }
      }
    }
    return parts.numbers.isEmpty ? nil : parts
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    byte >= 0x80 || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
  }

  /// Takes a word; false when dates have no such word.
  private static func take(
    _ letters: Slice<UnsafeBufferPointer<UInt8>>, isBehindNumber: Bool, _ parts: inout Parts
  ) -> Bool {
    guard letters.count <= 18, mayBeWord(letters) else { return false }
    let word = String(decoding: letters, as: UTF8.self).lowercased()
    if word == "am" || word == "pm" {
      parts.hasHalf = true
      return isBehindNumber
    }
    if months.contains(word) || months.contains(String(word.prefix(3))) && abbreviates(word) {
      if parts.hasMonth { return false }
      parts.hasMonth = true
      return true
    }
    return words.contains(word) || weekdays.contains(String(word.prefix(3)))
  }

  /// False for most other words, without making a text of them.
  private static func mayBeWord(_ letters: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    letters.contains { $0 >= 0x80 } || beginnings[beginning(letters)]
  }

  /// The first two letters, whatever their case.
  private static func beginning(_ letters: some Collection<UInt8>) -> Int {
    let first = letters.prefix(2).reduce(0) { $0 << 5 | Int($1 & 0x1F) }
    return letters.count == 1 ? first << 5 : first
  }

  /// Whether any word of dates begins with these letters.
  private static let beginnings: [Bool] = {
    var found = [Bool](repeating: false, count: 1 << 10)
    for word in months.union(weekdays).union(words).union(["am", "pm"]) {
      found[beginning(word.utf8)] = true
    }
    return found
  }()

  /// Months by their first three letters in English, in full in other languages.
  private static let months: Set<String> = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    "okt", "dez", "mai", "ene", "abr", "ago", "dic", "gen", "giu", "lug", "ott", "mrt", "mei",
    "fév", "avr",
    "jui", "aoû", "déc", "mär", "set", "out", "fev", "mag", "märz", "juin", "juil", "août", "maj",
    "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября",
    "ноября", "декабря",
  ]
  private static let fullMonths: Set<String> = [
    "january", "february", "march", "april", "june", "july", "august", "september", "october",
    "november", "december", "sept", "januar", "februar", "juni", "juli", "oktober", "dezember",
    "janvier",
    "février", "avril", "juillet", "septembre", "octobre", "novembre", "décembre", "enero",
    "febrero",
    "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
    "diciembre",
    "gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre",
    "dicembre",
    "januari", "februari", "maart", "augustus", "janeiro", "fevereiro", "março", "maio", "junho",
    "julho",
    "setembro", "outubro", "novembro", "dezembro", "mars", "augusti", "marts", "december",
  ]

  private static func abbreviates(_ word: String) -> Bool {
    word.count == 3 || fullMonths.contains(word)
  }

  private static let weekdays: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let words: Set<String> = [
    "t", "z", "utc", "gmt", "st", "nd", "rd", "th", "of", "at", "de", "uhr", "h", "est", "edt",
    "cst", "cdt",
    "mst", "mdt", "pst", "pdt", "cet", "cest", "bst", "ist", "jst",
  ]

  private static func hasDay(_ parts: Parts) -> Bool {
    parts.numbers.contains { ($0.value >= 1 && $0.value <= 31) || $0.digits == 4 }
      && parts.numbers.allSatisfy { $0.digits <= 9 }
  }

  private static func isInFigures(
    _ cell: Slice<UnsafeBufferPointer<UInt8>>, _ parts: Parts
  ) -> Bool {
    let numbers = parts.numbers
    var next = 0
    if numbers.count >= 3, let mark = parts.marks.first, mark == parts.marks[1],
      mark == 0x2D || mark == 0x2F || mark == 0x2E
    {
      guard isDay(numbers[0], numbers[1], numbers[2]) else { return false }
      next = 3
    } else if numbers.count == 2, parts.marks[0] == 0x2D || parts.marks[0] == 0x2F {
      let isYearFirst = numbers[0].digits == 4 && numbers[1].digits == 2
      let isYearLast = numbers[0].digits <= 2 && numbers[1].digits == 4
      return (isYearFirst && (1...12).contains(numbers[1].value))
        || (isYearLast && (1...12).contains(numbers[0].value))
    }
    if next == numbers.count { return !parts.hasHalf }
    if next == 0, parts.hasHalf, numbers.count == 1 { return (1...12).contains(numbers[0].value) }
    // A time: hours and minutes, at least.
    guard numbers.count > next + 1, numbers[next].digits <= 2, numbers[next].value < 25,
      parts.marks[next] == 0x3A, numbers[next + 1].digits == 2, numbers[next + 1].value < 60
    else { return false }
    return numbers.count <= next + 6
  }

  private static func isDay(
    _ first: (value: Int, digits: Int), _ second: (value: Int, digits: Int),
    _ third: (value: Int, digits: Int)
  ) -> Bool {
    guard (1...31).contains(second.value), second.digits <= 2 else { return false }
    if first.digits == 4 {
      return (1...31).contains(third.value) && third.digits <= 2
        && (second.value <= 12 || third.value <= 12)
    }
    return first.digits <= 2 && (1...31).contains(first.value)
      && (third.digits == 4 || third.digits == 2) && (first.value <= 12 || second.value <= 12)
  }
}
