/// What a first record of texts has in common with the records below it, as names have not: the pattern of
/// codes, the words of another column, the ending of files.
extension HeaderSniffer.Columns {
  /// More columns than this are not compared with one another.
  private static let comparedColumns = 16
  /// Nor are more searched for codes.
  private static let searchedColumns = 64
  /// How many cells below a name show how values are written.
  private static let shownCells = 100

  /// Whether a cell of the first record has a word that names of columns often are, such as `Country` or
  /// `user_id`. Then it is not taken for a value because of its looks.
  var hasUsualName: Bool {
    first.contains { cell in
      guard let cell, cell.utf8.count <= 64 else { return false }
      return Self.words(cell).contains(where: UsualNames.contains)
    }
  }

  /// Whether the first cell is such a word and nothing else.
  var beginsWithUsualName: Bool {
    guard let cell = first.first ?? nil, cell.utf8.count <= 64 else { return false }
    return UsualNames.contains(cell.lowercased())
  }

  /// Whether names are written otherwise than values: in a column of at least three different texts, all of
  /// them in capitals or beginning with one, or none of them, and the first cell not so; or as programs write
  /// names, `first_name` or `firstName`, where no text below is. The first hundred are looked at.
  var hasOtherCase: Bool {
    first.indices.prefix(Self.searchedColumns).contains { column in
      guard let cell = first[column], let style = LetterCase(cell) else { return false }
      var seen: Set<String> = []
      for other in cells(column).prefix(Self.shownCells) where !CellShape(other).isBlank {
        if LetterCase(other) == style { return false }
        if seen.count < 3 { seen.insert(other) }
      }
      return seen.count > 2
    }
  }

  /// How the letters of a text are written.
  private enum LetterCase {
    case lower, capitalized, upper, joined

    /// Nil for a text that does not begin with a letter.
    init?(_ text: String) {
      guard let head = text.first, head.isLetter else { return nil }
      let letters = text.filter(\.isLetter)
      let isJoined =
        text.contains("_")
        || zip(text, text.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
      if isJoined, !text.contains(" ") {
        self = .joined
      } else if letters.count > 1, letters.allSatisfy(\.isUppercase) {
        self = .upper
      } else {
        self = head.isUppercase ? .capitalized : .lower
      }
    }
  }

  /// The words of a cell in lower case, also those of `userID` and `user_id`, without figures behind them.
  private static func words(_ cell: String) -> [String] {
    var words: [String] = [""]
    var previous: Character = " "
    for character in cell {
      if !character.isLetter {
        words.append("")
      } else {
        if character.isUppercase, previous.isLowercase { words.append("") }
        words[words.count - 1].append(character)
      }
      previous = character
    }
    return words.filter { !$0.isEmpty }.map { $0.lowercased() }
  }

  /// The first column whose cells all have the length and the pattern of the first one, as codes have: `DE`
  /// above `FR`. Nil if another column of one pattern has another one in the first record, which is a name
  /// then.
  var codeLikeOthers: Int? {
    var found: Int?
    for column in first.indices.prefix(Self.searchedColumns) where !shapes[column].isBlank {
      guard let cell = first[column], let pattern = commonPattern(column) else { continue }
      if CellShape.pattern(cell) != pattern { return nil }
      if found == nil, cell.unicodeScalars.contains(where: \.properties.isAlphabetic) {
        found = column
      }
    }
    return found
  }

  /// The pattern that all cells below have; nil if they differ, or are too few: five with three different
  /// ones, or twelve with eight if they may be words, since a few words have one length by chance.
  private func commonPattern(_ column: Int) -> [UInt8]? {
    var pattern: [UInt8]?
    var different: Set<String> = []
    var count = 0
    for cell in cells(column) where !CellShape(cell).isBlank {
      let own = CellShape.pattern(cell)
      if let pattern, pattern != own { return nil }
      // Letters beyond ASCII have no pattern.
      if own.contains(where: { $0 >= 0x80 }) { return nil }
      pattern = own
      count += 1
      if different.count < 8 { different.insert(cell) }
    }
    let hasFigures = pattern?.contains(UInt8(ascii: "9")) ?? false
    let mayBeWords = !hasFigures && pattern?.contains(UInt8(ascii: "a")) ?? false
    return count >= (mayBeWords ? 12 : 5) && different.count > (mayBeWords ? 7 : 2) ? pattern : nil
  }

  /// The first cell that occurs below in another column with the same words as its own, as in the ends of
  /// edges: at least two, and 30% of the words of the one that has fewer.
  var wordOfNeighbour: Int? {
    let columns = first.indices.filter { shapes[$0] == .text || shapes[$0] == .code }
    guard columns.count > 1, columns.count <= Self.comparedColumns, below.count > 4 else {
      return nil
    }
    let vocabularies = columns.map { column in
      Set(cells(column).filter { !CellShape($0).isBlank && CellShape($0) != .bool })
    }
    for (place, column) in columns.enumerated() {
      guard let cell = first[column] else { continue }
      for (other, words) in vocabularies.enumerated() where other != place && words.contains(cell) {
        let own = vocabularies[place]
        let common = own.intersection(words).count
        if common > 1, common * 10 >= min(own.count, words.count) * 3 { return column }
      }
    }
    return nil
  }

  /// The columns that are flags: empty, or with their name again, and at least two of them, with different
  /// names.
  ///
  /// - Parameter columns: those that have their name again.
  func flags(among columns: [Int]) -> Set<Int> {
    var found: Set<Int> = []
    for column in columns {
      let name = first[column]
      var isFlag = true
      var hasBlank = false
      for record in below where column < record.count {
        if record[column] == name { continue }
        isFlag = CellShape(record[column]).isBlank
        if !isFlag { break }
        hasBlank = true
      }
      if isFlag, hasBlank { found.insert(column) }
    }
    let names = Set(found.map { first[$0] })
    return names.count > 1 && names.count == found.count ? found : []
  }
}

/// Words that columns are often called by.
enum UsualNames {
  static func contains(_ word: String) -> Bool { words.contains(word) }

  private static let words: Set<String> = Set(
    """
    id ids uid uuid guid key code codes name names title titles label labels type types kind class category \
    categories group description desc text comment comments note notes remark remarks value values date \
    time day month year country countries state city town region county district province place location \
    address street zip zipcode postcode postal phone email mail url link site website web source target \
    from to start end status gender sex age unit units number no nr num count total amount price cost \
    currency iso lang language word words term terms meaning definition synonym translation question \
    questions answer answers symbol abbreviation abbr acronym gene genes protein species genus family order \
    sequence seq sample samples barcode file files filename path image images user username author authors \
    artist album song genre company organisation organization department entity supplier product products \
    item items model brand colour color size first last surname forename firstname lastname person people \
    member team player role position parent child node edge left right input output result results expected \
    actual version tag tags topic subject message content field fields column variable parameter attribute \
    property feature dataset table record index row rank score grade level code2 code3 continent area zone \
    airport station school party candidate nom prénom prenom ville pays adresse libelle libellé commune \
    fecha nombre ciudad país pais apellido descripcion descripción datum bezeichnung beschreibung land ort \
    stadt plz straße strasse nummer art typ wert vorname nachname einheit nome cidade città citta naam \
    plaats omschrijving imię nazwisko nazwa miasto kraj navn namn by st cc ccy cur cy tld lga soc sic naics \
    nace sku ean upc gtin isbn issn doi sym ric cusip isin lei bic iban swift mcc mnc fips iata icao ioc \
    fifa ccode alpha alpha2 alpha3 abb abbrev abv chr chrom pos ref alt rsid snp cas ec go kegg pid tid oid \
    cid sid nid eid rid bid gid mid dob tel fax www src dst org dept div cat grp grd lvl lat lon lng qty \
    vol pct avg min max std sum des loc nat fam gen sp ssp rel obj subj pred mat prod cust emp acct txn inv \
    ord ver rev cls val var par col fld dir ext fmt enc fn fname lname mon yr dd mm yyyy hh ss tz utc gmt
    """.split(separator: " ").map(String.init))
}
