import TestSupport
import Testing

@testable import Importer

/// Columns aligned with blanks: tables that are read, tables that are only noted, and texts that are no
/// tables.
@Suite struct WhitespaceSniffingTests {
  @Test(
    "Columns aligned by blanks are found, also below titles and without names",
    arguments: [
      ("a    bb  c\n1     2  3\n10   20  3\n1     2  3\n1     2  3\n", "0: a|bb|c"),
      // Numbers as programs print them: right-aligned, with a blank at the front or without.
      ("  1.5  20\n 10.25  3\n  0.5 100\n 99.0   1\n  1.0  22\n", "0: 2 columns"),
      (
        "51069 51043      1\n51070 51044      1\n51071 51045     12\n51072 51043    123\n51073 51045      2\n",
        "0: 3 columns"
      ),
      (
        "    0.1E+00    0.15E-01\n    0.2E+00    0.18E-01\n    0.3E+00    0.21E-01\n    0.4E+00    0.2E-01\n"
          + "    0.5E+00    0.21E-01\n", "0: 2 columns"
      ),
      // Two single blanks in each line, in front of different fields.
      (" 1 10\n10  1\n 2 20\n20  2\n 3 30\n", "0: 2 columns"),
      // Places that are blank in the few long lines tell nothing.
      ("1  2  3\n4  5  6\n7  8  9\n1  5  2\n100000000 20 3\n100000000 20 4\n", "0: 3 columns"),
      // Blanks at the front only.
      (" 1 2\n 3 4\n 5 6\n 7 8\n 9 1\n", "0: 2 columns"),
      // Titles of one word, of as many words as columns, and of more, above figures only.
      ("S4320\n 1.0  0.0\n 0.9  0.4\n 0.8  0.5\n 0.7 -0.6\n 0.6  0.7\n", "1: 2 columns"),
      ("FX 69-274\n 1.0  0.0\n 0.9  0.4\n 0.8  0.5\n 0.7 -0.6\n 0.6  0.7\n", "1: 2 columns"),
      ("GOE 184 (MVA H.29)\n1.0 0.0\n0.9 0.4\n0.8 0.5\n0.7 0.6\n0.6 0.7\n", "1: 2 columns"),
      (
        "A run of it\non two days\n\n1.0  0.0\n0.9  0.4\n0.8  0.5\n0.7  0.6\n0.6  0.7\n",
        "3: 2 columns"
      ),
      ("made by me\n x    y\n1.0  0.0\n0.9  0.4\n0.8  0.5\n0.7  0.6\n0.6  0.7\n", "1: x|y"),
      // A header as numpy writes it.
      (
        "# x y z\n 1.0   2.0   3.0\n 4.0   5.0   6.0\n 7.0   8.0   9.0\n 1.5   2.5   3.5\n 1.5   2.5  -3.5\n",
        "0: x|y|z"
      ),
      (
        "#   a   b   c\n 1.0 2.0 3.0\n 4.0 5.0 6.0\n 7.0 8.0 9.0\n 1.5 2.5 3.5\n 1.5 2.5 3.6\n",
        "0: a|b|c"
      ),
      // The output of ps.
      (
        "    PID TTY          TIME CMD\n      1 ?        00:00:05 init\n     12 pts/0    00:00:00 bash\n"
          + "    123 pts/0    00:01:00 ps\n   1234 ?        10:00:00 sshd\n", "0: PID|TTY|TIME|CMD"
      ),
      // The output of R: no name above the names of rows.
      (
        "         mpg cyl\nMazda   21.0   6\nDatsun  22.8   4\nHornet  21.4   6\nValiant  8.1   6\nDuster  14.3   8\n",
        "0: column1|mpg|cyl"
      ),
      // Below a title and a blank line.
      (
        "station 7\n\n t    x     y\n0.0  1.0  12.0\n0.1  1.5   2.5\n0.2 11.5   2.5\n0.3  1.5   2.5\n0.4  1.5   2.5\n",
        "2: t|x|y"
      ),
      // A single blank between a date and a text.
      (
        "2018-01-01 apple    1\n2018-01-02 pear    12\n2018-01-03 fig      1\n2018-01-04 plum     1\n2018-01-05 nut     15\n",
        "0: 3 columns"
      ),
      // Quotes keep blanks.
      ("name  n\n\"a b\"   1\n\"c\"  22\n\"d e f\"  3\ng  4\n", "0: name|n"),
    ])
  func tables(text: String, place: String) throws {
    let found = try SniffingTests.found(text)
    #expect(found.place == place && found.delimiter == "whitespace", "\(found)")
    #expect(!found.notes.contains("whitespace"))
  }

  /// As many words as columns may be a title if they are not aligned with the columns.
  @Test func titlesOfAsManyWords() throws {
    let rows =
      " 1.00000  0.00000\n 0.90000  0.01000\n 0.80000  0.02000\n 0.70000  0.03000\n 0.50000  0.10000\n"
    #expect(
      try SniffingTests.found("CLARK Y\n" + rows).notes.contains("--skip-lines 1 --header no"))
    for head in ["       x        y\n", " x        y\n", "", "y\n", "\nCLARK Y\n"] {
      #expect(try !SniffingTests.found(head + rows).notes.contains("--header no"), "\(head)")
    }
    #expect(
      try !SniffingTests.found("CLARK Y\n" + rows) { $0.header = .firstRecord }.notes.contains(
        "--header no"))
  }

  /// Evidence against runs of blanks, and the note about it.
  @Test(arguments: [
    // Too few records; a record with a field less.
    ("a   b  c\n1   2  3\n10 20  3\n", "--delimiter whitespace"),
    (
      "a   b  c\n1   2  3\n10 20  3\n 1  2  3\n 1     3\n 1  2  3\n 1  2  3\n",
      "--delimiter whitespace"
    ),
    (
      "# by hand\na b c d\n  1  2 3 4\n1 2 3 5 \n # a comment\n1 2 3 6\n1 2 4 4\n3 2 3 4\n1 2 3 9\n1 2 3 8\n",
      "4 fields with runs of blanks"
    ),
    // A blank in each first field, which the header shows.
    (
      "name          n    h   w\nJohn Smith    23  1.8  70\nAnne Miller   31  1.7  60\nMax Doe        4  1.0  17\n"
        + "Eve Stone     44  1.6  55\nPaul Brook    50  1.9  99\n", "4 fields in the same places"
    ),
    // The same without a header, beside wider gaps.
    (
      "John Smith    23  1.8  70\nAnne Miller   31  1.7  60\nMax Doe        4  1.0  17\nEve Stone     44  1.6  55\n"
        + "Paul Brook    50  1.9  99\n", "4 fields in the same places"
    ),
    (
      "Star name  mag\nHD 1234    3.4\nHD 45      5.5\nHD 7       1.5\nHD 888     2.5\n",
      "2 fields in the same places"
    ),
    // Here an empty field, there a blank in a field: the same number of words.
    (
      "n   item         qty  price\n1   apple         5    1.50\n2   green pear         2.50\n3   fig           7    3.50\n"
        + "4   plum          8    3.50\n5   nut           9    3.50\n",
      "4 fields in the same places"
    ),
    // An empty field in the second record, and in the first: no title, although figures follow.
    (
      "day        amount\n2011-07-24  21667\n2022-04-16\n2028-08-18  18418\n2017-01-21  62806\n2028-03-26  94638\n"
        + "2023-01-24  77000\n2026-01-10  18604\n2011-06-16   9260\n", "--delimiter whitespace"
    ),
    (
      "day        amount\n2022-04-16\n2028-08-18  18418\n2017-01-21  62806\n2028-03-26  94638\n2023-01-24  77000\n"
        + "2026-01-10  18604\n2011-06-16   9260\n", "--delimiter whitespace"
    ),
    // Units below the names.
    (
      "x    y\nm    s\n1.0  0.0\n0.9  0.4\n0.8  0.5\n0.7  0.6\n0.6  0.7\n",
      "2 fields in the same places"
    ),
    // Texts only.
    (
      "John Smith     Paris     WA\nMary Hartford  Nancy     CA\nEvan Nolan     New York  IL\n",
      "3 fields in the same places"
    ),
    // A sign between names and values.
    ("alpha    = 1\nbeta     = 2\ngamma    = 3\ndelta    = 44\nepsilon  = 5\n", ""),
    ("alpha    =  1\nbeta     =  2\ngamma    =  3\ndelta    = 44\nepsilon  =  5\n", ""),
    // Fewer words above fields that may contain blanks: a date and its time.
    (
      "when value\n2018-01-01 12:30   5\n2018-01-02 12:30  15\n2018-01-03 12:30   5\n2018-01-04 12:30   5\n"
        + "2018-01-05 12:30   5\n", "2 fields in the same places"
    ),
  ])
  func otherTables(text: String, note: String) throws {
    let found = try SniffingTests.found(text)
    #expect(!found.place.contains("|") && found.delimiter != "whitespace", "\(found)")
    #expect(note.isEmpty || found.notes.contains(note), "\(found)")
  }

  /// The command in the note replaces the last blank before each field by a bar.
  @Test func placesBecomeBars() throws {
    let text =
      "John Smith     Paris     WA\nMary Hartford  Nancy     CA\nEvan Nolan     New York  IL\n"
    let notes = try SniffingTests.found(text).notes
    #expect(notes.contains("sed -E 's/^(.{24}) /\\1|/;s/^(.{14}) /\\1|/'"), "\(notes)")
  }

  /// Texts that are no tables.
  @Test(arguments: [
    "It was\na dark and\nstormy night\nin the\nold house\n",
    "a  bc\nde  f\ng  hi\n",
    "John Smith     Paris    WA\nMary Hartford  Nancy    CA\nEvan Nolan     New York IL\n",
    // As many words in each line, some of them figures.
    "We saw 3 ships.\nThey had 12 masts.\nI counted 7 men.\nSome wore 2 hats.\nNobody had 5 legs.\n",
    // A poem.
    "  Tyger Tyger, burning bright,\n  In the forests of the night;\nWhat immortal hand or eye,\n"
      + "  Could frame thy fearful symmetry?\n\n  In what distant deeps or skies.\n",
    // A program.
    "int main() {\n  int i = 0;\n  int j = 1;\n  int k = 2;\n  int l = 3;\n  return i;\n}\n",
    // A log.
    "Nov 25 12:00:01 host cron[12]: started\nNov 25 12:00:02 host cron[12]: job a done\n"
      + "Nov 25 12:00:03 host sshd[1]: closed  by peer\nNov 25 12:00:03 host sshd[1]: opened for root from x\n"
      + "Nov 25 12:00:04 host sshd[1]: bye\n",
    // Lines that are one value each.
    "2018-08-03 12:30\n2018-08-03 12:31\n2018-08-03 12:32\n2018-08-03 12:33\n2018-08-03 12:34\n",
  ])
  func texts(text: String) throws {
    let found = try SniffingTests.found(text)
    #expect(found.delimiter != "whitespace", "\(found)")
  }

  @Test("The delimiter whitespace can be given")
  func theOptionNamesIt() throws {
    let text = "a   b  c\n1   2  3\n"
    #expect(try SniffingTests.found(text) { $0.delimiter = "whitespace" }.place == "0: a|b|c")
    for (quote, escape, comment) in [
      (0x20, nil, nil), (0x09, nil, nil), (0x22, 0x09, nil), (0x22, nil, " #"), (0x22, nil, "\t"),
    ] as [(UInt8, UInt8?, String?)] {
      #expect(throws: ImportError.self) {
        _ = try Dialect(
          delimiter: Dialect.whitespace, quote: quote, escape: escape.map { .some($0) },
          comment: comment.map { Array($0.utf8) })
      }
    }
    #expect(try Dialect(delimiter: Dialect.whitespace) != Dialect(delimiter: [0x20]))
  }

  /// Aligned tables of every shape. Tables without blanks in fields and without empty fields are read
  /// as they were written; the others never get other columns.
  @Test func generatedTables() throws {
    var read = 0
    for seed in Effort.seeds(1..<1500) {
      var table = AlignedTable(seed: seed)
      let input = table.write()
      let found = try SniffingTests.found(input.text)
      let what: Comment = "seed \(seed): \(found)\n\(input.text.prefix(900))"
      if input.isWhole {
        #expect(found.place == input.expected, what)
        if found.delimiter == "whitespace" { read += 1 }
      } else {
        #expect(found.delimiter != "whitespace", what)
      }
    }
    #expect(read > 0)
  }

  /// Lines of words, a few of which are figures.
  @Test func generatedTexts() throws {
    for seed in Effort.seeds(1..<1500) {
      var random = SplitMix64(seed: seed)
      let words = ["the", "a", "ship,", "3", "1984", "sails", "on.", "Then", "we", "saw", "12"]
      var text = ""
      for _ in 0..<Int.random(in: 5...30, using: &random) {
        text += String(repeating: " ", count: Int.random(in: 0...3, using: &random))
        for _ in 0..<Int.random(in: 2...9, using: &random) {
          text += words.randomElement(using: &random) ?? ""
          text += [" ", " ", "  "].randomElement(using: &random) ?? " "
        }
        text += "\n"
      }
      let found = try SniffingTests.found(text)
      #expect(found.delimiter != "whitespace", "seed \(seed):\n\(text)")
    }
  }
}

/// A table with aligned columns, and how it must be read.
private struct AlignedTable {
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private static let words = [
    "apple", "stone", "River", "Ostend", "quiet", "Zebra", "moss", "tin", "Étude", "x",
  ]
  private static let names = [
    "name", "day", "amount", "City", "Qty", "note", "Land", "rate", "Größe", "t",
  ]

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &random)
  }

  private mutating func value(_ kind: Int) -> String {
    switch kind {
    case 0: "\(number(-9...99999))"
    case 1: "\(number(-9...9999)).\(number(10...99))"
    case 2: "20\(number(10...29))-0\(number(1...9))-\(number(10...28))"
    default: Self.words[number(0...Self.words.count - 1)]
    }
  }

  mutating func write() -> (text: String, expected: String, isWhole: Bool) {
    let width = number(2...7)
    // At least half of the columns have figures.
    var kinds = (0..<width).map { $0 * 2 < width ? number(0...2) : number(0...5) }
    kinds.shuffle(using: &random)
    var names = Self.names
    names.shuffle(using: &random)
    names = Array(names.prefix(width))
    let hasHeader = number(0...3) > 0
    var rows = (0..<number(5...30)).map { _ in kinds.map { value($0) } }
    if hasHeader { rows.insert(names, at: 0) }
    // Blanks in fields, and empty fields.
    let oddity = number(0...3)
    var isWhole = true
    for row in rows.indices.dropFirst() where oddity < 2 && number(0...2) == 0 {
      let column = number(0...width - 1)
      if oddity == 0 || kinds[column] < 3 {
        rows[row][column] = ""
      } else {
        rows[row][column] += " of \(Self.words[number(0...9)])"
      }
      isWhole = false
    }
    let areRight = kinds.map { $0 < 3 && number(0...3) > 0 }
    // A single blank behind a text may belong to it.
    let gaps = kinds.map { $0 < 3 ? number(1...3) : number(2...3) }
    let widths = (0..<width).map { column in rows.map { $0[column].count }.max() ?? 0 }
    let margin = String(repeating: " ", count: number(0...2))
    var text = ""
    for row in rows {
      text += margin
      for (column, cell) in row.enumerated() {
        let blanks = String(repeating: " ", count: widths[column] - cell.count)
        text += areRight[column] ? blanks + cell : cell + blanks
        text += String(repeating: " ", count: gaps[column])
      }
      text += "\n"
    }
    return (
      text, "0: " + (hasHeader ? names.joined(separator: "|") : "\(width) columns"), isWhole
    )
  }
}
