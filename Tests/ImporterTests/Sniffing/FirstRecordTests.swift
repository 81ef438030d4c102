import Testing

@testable import Importer

/// Whether a first record of texts is a header, where nothing but its words tells, and lines of words above a
/// table of texts. Each rule has cases that it is for, and others that look like them.
@Suite struct FirstRecordTests {
  private static let countries = [
    ("DE", "Germany"), ("FR", "France"), ("ES", "Spain"), ("IT", "Italy"), ("NO", "Norway"),
    ("AT", "Austria"), ("CZ", "Czechia"),
  ]

  private static func pairs(_ head: String, _ pairs: [(String, String)]) -> String {
    head + pairs.map { "\($0),\($1)\n" }.joined()
  }

  // MARK: Codes

  @Test(
    "A first record like the codes below it is a header only with a usual name in it",
    arguments: [
      ("", "0: 2 columns"), ("Code,Country\n", "0: Code|Country"),
      ("ISO,Country\n", "0: ISO|Country"),
      // A usual name among the names.
      ("NX,region\n", "0: NX|region"), ("ab,whatever\n", "0: ab|whatever"), ("A1,x\n", "0: A1|x"),
      // Without one, names that look like codes are taken for codes.
      ("QX,Whatever\n", "0: 2 columns"),
    ])
  func codes(head: String, expected: String) throws {
    #expect(try SniffingTests.found(Self.pairs(head, Self.countries)).place == expected)
  }

  @Test(
    "A first record with the pattern of the others is a record, if enough show the pattern",
    arguments: [
      // Too few records, or too few different ones.
      ("DE,Germany\nFR,France\nES,Spain\nIT,Italy\n", "0: DE|Germany"),
      ("AB,x y\nCD,y\nEF,zz\nCD,w\nEF,v\nCD,u\n", "0: AB|x y"),
      // Another column of one pattern has another pattern in the first record.
      ("ABC,Kx\nXYZ,A\nUVW,B\nRST,C\nOPQ,D\nLMN,E\n", "0: ABC|Kx"),
      ("ABC,K\nXYZ,A\nUVW,B\nRST,C\nOPQ,D\nLMN,E\n", "0: 2 columns"),
      // Codes in one column; words have different lengths.
      ("ACGT-A\nGGCT-A\nCCAT-G\nGCAT-T\nTTAG-A\nCATG-G\n", "0: 1 columns"),
      ("alder\nbirch\ncedar\nelm\nfir\noak\n", "0: alder"),
      ("xxxx\nacgt\nggct\nccat\ngcat\nttag\n", "0: xxxx"),
      ("gene\nACGT\nGGCT\nCCAT\nGCAT\nTTAG\n", "0: gene"),
      (
        "seqs\nacgt\nggct\nccat\ngcat\nttag\nagca\ncgta\ntgca\ngtca\nctag\nccta\ngggt\n",
        "0: 1 columns"
      ),
      ("sequence\nacgtacgt\nggctacgt\nccatacgt\ngcatacgt\nttagacgt\n", "0: sequence"),
      ("userId\nacgtAc\nggctAc\nccatAc\ngcatAc\nttagAc\n", "0: userId"),
    ])
  func patterns(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).place == expected)
  }

  @Test("A first record that only may be data is noted, with the option that makes it names")
  func doubt() throws {
    let notes = { (head: String) in
      try SniffingTests.found(Self.pairs(head, Self.countries)).notes
    }
    #expect(try notes("QX,Whatever\n").contains("taken as data: 'QX' is a code"))
    #expect(try notes("QX,Whatever\n").contains("--header yes"))
    #expect(try !notes("Code,Country\n").contains("--header yes"))
    // An abbreviation that columns are called by.
    #expect(
      try SniffingTests.found(Self.pairs("CC,Whatever\n", Self.countries)).place == "0: CC|Whatever"
    )
    let edges = "alder,oak\noak,elm\nelm,fir tree\nbirch,alder\nfir tree,birch\nelm,birch\n"
    #expect(try SniffingTests.found(edges).notes.contains("--header yes"))
  }

  @Test(
    "Where nothing but words tells names from data, that is noted",
    arguments: [
      // Neither a usual name nor another way of writing.
      ("apple,red\npear,green\nplum,blue\ncherry,pink\n", true),
      ("Alder tree,Oak\nElm,Fir\nBirch,Lime\nYew,Pine\n", true),
      // A usual name; another case; the way in which programs write names.
      ("fruit,name\npear,green\nplum,blue\ncherry,red\n", false),
      ("Fruit,Whatever\npear,green\nplum,blue\ncherry,red\n", false),
      ("FRUIT,x\nPear,green\nPlum,blue\nCherry,red\n", false),
      ("fruit_kind,x\npear,green\nplum,blue\ncherry,red\n", false),
      ("fruitKind,x\npear,green\nplum,blue\ncherry,red\n", false),
      // Too few different texts to tell by the case.
      ("Fruit,Whatever\npear,green\nplum,blue\npear,green\n", true),
      // Figures prove it.
      ("apple,red\npear,1\nplum,2\ncherry,3\n", false),
    ])
  func doubtOfNames(text: String, isNoted: Bool) throws {
    let found = try SniffingTests.found(text)
    #expect(found.place.hasPrefix("0: ") && found.place.contains("|"))
    #expect(found.notes.contains("--header no") == isNoted, "\(found.notes)")
  }

  // MARK: Words of other columns

  @Test(
    "A first record whose words recur below in other columns is a record, not a header",
    arguments: [
      ("alder,oak\noak,elm\nelm,fir tree\nbirch,alder\nfir tree,oak\nelm,birch\n", "0: 2 columns"),
      // The names occur nowhere, or in a column with other words, or one of them is usual.
      ("tree,next\noak,elm\nelm,fir tree\nbirch,alder\nfir tree,oak\nelm,birch\n", "0: tree|next"),
      (
        "Home,Away,Won\nPort,Lake,Home\nHill,Port,Away\nLake,Hill,Home\nPort,Hill,Drawn\n"
          + "Lake,Port,Home\n", "0: Home|Away|Won"
      ),
      ("from,to\noak,elm\nelm,from\nbirch,alder\nfir tree,oak\nelm,birch\n", "0: from|to"),
      // One common word is not many, also where there are few.
      ("alder,pine\noak,alder\nelm,yew\nfir tree,elm\noak,yew\nelm,lime\n", "0: alder|pine"),
      // Too few records.
      ("alder,oak\noak,elm\nelm,alder\n", "0: alder|oak"),
    ])
  func neighbours(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).place == expected)
  }

  // MARK: Flags

  @Test(
    "Columns that repeat their own names as flags have a header; those of mere marks do not",
    arguments: [
      ("Entry,Good,Bad\nalder,Good,\nbirch,,Bad\ncedar,,\nelm oak,Good,Bad\n", "0: Entry|Good|Bad"),
      // One flag, or flags of one word: marks.
      ("alder,x,\nbirch,x,\ncedar,,y\nelm oak,x,\n", "0: 3 columns"),
      ("alder,x,x\nbirch,x,\ncedar,,x\nelm oak,x,\n", "0: 3 columns"),
      ("alder,x,x,y\nbirch,x,,y\ncedar,,x,\nelm oak,x,,y\n", "0: 4 columns"),
      // Something else among them.
      ("Entry,Good,Bad\nalder,Good,\nbirch,None so,Bad\ncedar,,\n", "0: 3 columns"),
    ])
  func flags(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).place == expected)
  }

  // MARK: Files

  @Test(
    "A file name above enough file names in a single column is a record, not a header",
    arguments: [
      ("a.txt\nb\nREADME\nc.txt\nd.txt\nMakefile\nx\ne.txt\n", "0: 1 columns"),
      ("a.txt\nb\nREADME\nc.txt\nMakefile\n", "0: a.txt"),
      ("a.txt\nb c\nd.txt\ne.txt\nf\nh.txt\ng\n", "0: a.txt"),
      ("files\nb.txt\nREADME\nc.txt\nd.txt\nMakefile\n", "0: files"),
      ("a.txt,x\nb,yy\nREADME,z\nc.txt,w\nd.txt,v\nMakefile,u\n", "0: a.txt|x"),
    ])
  func files(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).place == expected)
  }

  // MARK: Ranges and shares as names

  @Test(
    "Ranges, years and shares above amounts are a header; above values like them they are not",
    arguments: [
      // Amounts, shares, and a word in one cell of five.
      ("Area,0-4,5-9\nN,£1,£2\nS,£3,£4\n", "0: Area|0-4|5-9"),
      ("Area,2010/11,2011/12\nN,1%,2%\nS,3%,4%\n", "0: Area|2010/11|2011/12"),
      (
        "Area,0-4,5-9\nN,1,2\nS,3,c\nE,4,5\nW,c,6\nC,7,8\nD,7,8\n", "0: Area|0-4|5-9"
      ),
      // More words, or other ranges.
      ("Area,0-4,5-9\nN,c,2\nS,3,c\nE,4,5\n", "0: 3 columns"),
      ("Area,0-4,5-9\nN,1-2,2\nS,3,4\nE,4,5\nW,4,5\nC,4,5\nD,4,5\n", "0: 3 columns"),
      // Shares in order, above numbers or above other shares.
      ("City,10%,50%,90%\nOslo,5.5,1.5,2.5\nRome,4,2,1\nBonn,5,1,3\n", "0: City|10%|50%|90%"),
      ("City,10%,50%,90%\nOslo,5%,1%,2%\nRome,4%,2%,1%\nBonn,5%,1%,3%\n", "0: 4 columns"),
    ])
  func labels(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).place == expected)
  }

  // MARK: Lines above texts

  private static let trees =
    "kind,park,shade,by\nElm,Oslo,red,Anna\nOak,Rome,blue,Bob\nFir,Bonn,red,Cem\nAsh,Kiel,green,Dora\n"
    + "Yew,Bern,blue,Eva\nLime,Graz,red,Fritz\n"

  @Test(
    "Titles and labels above the names are skipped, unless they may be records",
    arguments: [
      ("Trees of the parks\n", "1: kind|park|shade|by"),
      ("Trees, of all kinds, in parks\n", "1: kind|park|shade|by"),
      ("Trees, of all kinds\n", "1: kind|park|shade|by"),
      ("Owner,Anna\nTown,Bonn\n", "2: kind|park|shade|by"),
      // A word may be the first field of a record that is cut off; one label may be a short record; fields
      // without blanks in front may be names.
      ("Trees\n", "0: Trees"), ("Owner,Anna\n", "0: Owner|Anna"),
      ("Trees,of all,parks\n", "0: column1|Trees|of all|parks"),
    ])
  func lines(head: String, expected: String) throws {
    #expect(try SniffingTests.found(head + Self.trees).place == expected)
  }

  @Test("A sentence is not told from a record where all records have blanks behind their commas")
  func blanksBehindAllCommas() throws {
    let text = Self.trees.replacing(",", with: ", ")
    let place = try SniffingTests.found("Trees, of all, parks\n" + text).place
    #expect(place.hasPrefix("0: "), "\(place)")
  }

  @Test(
    "A line of sizes and names above figures is skipped; names or figures alone are not",
    arguments: [
      ("150,4,setosa,virginica\n", "1: 6 columns"), ("kinds: 4\n", "1: 6 columns"),
      // Names only, or figures only.
      ("a,b,c,d\n", "0: a|b|c|d"), ("150,4\n", "0: 2 columns"),
    ])
  func sizesAboveFigures(head: String, expected: String) throws {
    let figures = (0..<8).map { "\($0),1.5,2,3.25,4,\($0)\n" }.joined()
    #expect(try SniffingTests.found(head + figures).place == expected)
  }

  @Test("A note gives the option --header if the first comment has the columns' names")
  func namesInTheFirstComment() throws {
    let rows = (0..<6).map { "\($0),\($0 * 2),1.5\n" }.joined()
    let note = "--header 'time,depth,temp'"
    let found = { (text: String) in try SniffingTests.found(text + rows).notes }
    #expect(try found("# time,depth,temp\n#\n# From a station.\n").contains("--header"), "\(note)")
    #expect(try !found("# By me\n#\n# From a station.\n").contains("--header"))
    #expect(
      try !found("# one, which is a sentence of words,two,x\n# From a station\n").contains(
        "--header"))
  }
}

extension DialectSnifferTests {
  /// Delimiters that explain more than a usual one that divides all records evenly.
  @Test(arguments: [
    // Every second field is empty.
    ("a||b||c\n1||2||3\n2||3||4\n", "||"), ("a;;b;;c\n1;;2;;3\n", ";;"),
    ("a||b\n1||2\n2||3\n3||4\n5||6\n", "||"),
    // A field has something, or a record too little.
    ("a||b||c\n1||2|x|3\n2||3||4\n", "|"), ("a|x|b||c\n1||2||3\n2||3||4\n", "|"),
    ("0||test\n1||rest\n", "|"), ("a,,b,,c\n1,,2,,3\n2,,3,,4\n", ","),
    // Commas inside numbers.
    ("id^v^w\n1^1,5^2,25\n2^2,5^3,25\n", "^"), ("id~v~w\n1~1,5~2,25\n2~2,5~3,25\n", "~"),
    ("day^who^sum^cur\n2020-01-02^Anna^1,50^EUR\n2020-01-03^Bob^2,50^EUR\n", "^"),
    // Signs in texts.
    ("id,v^w^x\n1,a^b^c\n2,d^e^f\n", ","), ("id,v^w\n1,2^3\n2,3^4\n", ","),
    // Commas with blanks, and decimal commas.
    ("t, a, b\n0, 0,5, 1,25\n1, 1,5, 1,5\n2, 2,5, 3,5\n", ", "),
    ("0, 0,5, 1,25\n1, 1,5, 1,5\n2, 2,5, 3,5\n", ", "),
    ("t, a, b\n0, 0.5, 1.25\n1, 1.5, 1.5\n2, 2.5, 3.5\n", ","),
    ("0, 0,5, 1,25\n1, 1,5, 1,5\n", ","), ("0, 0,5, x\n1, 1,5, y\n2, 2,5, z\n", ","),
    ("0, 0,5, 1\n1, 1, 5,1\n2, 2,5, 3\n", ","),
  ])
  func rarer(text: String, expected: String) throws {
    #expect(try SniffingTests.found(text).delimiter == expected, "\(text)")
  }
}
