import Base
import Engine
import Importer
import Testing

@testable import Command

/// The kinds of option values: what each accepts, and what it says of the rest.
@Suite struct ValueKindTests {
  @Test(
    "A size is read with decimal and binary units, fractions and a blank before the unit",
    arguments: [
      ("0", 0), ("7", 7), ("1B", 1), ("70MB", 70_000_000), ("70mb", 70_000_000),
      ("512KiB", 524_288), ("1GiB", 1_073_741_824), ("1.5GB", 1_500_000_000), ("1.5KiB", 1536),
      ("2TB", 2_000_000_000_000), ("0.001kB", 1), ("10 MB", 10_000_000),
      ("9223372036854775807", Int.max),
    ])
  func sizes(text: String, bytes: Int) {
    #expect(ValueKind<Int>.size.parse(text) == bytes)
  }

  @Test(
    "Texts that are no size are refused",
    arguments: [
      "", "MB", "-1", "+1", "1e6", "1_000", "70M", "70 parsecs", "1.MB", ".5MB", "1.5", "1.5B",
      "1.2.3MB", "1.0001MB", "9223372036854775808", "9999999999TB", "9223372036.999GB", "٣MB",
      "1MB2",
    ])
  func noSizes(text: String) {
    #expect(ValueKind<Int>.size.parse(text) == nil)
  }

  @Test("Counts are whole numbers without a sign")
  func counts() {
    #expect(ValueKind<Int>.count.parse("0") == 0)
    #expect(ValueKind<Int>.positiveCount.parse("0") == nil)
    #expect(ValueKind<Int>.positiveCount.parse("12") == 12)
    for text in ["", "-1", "+1", " 1", "1.0", "٣", "99999999999999999999"] {
      #expect(ValueKind<Int>.count.parse(text) == nil, "\(text)")
    }
    #expect(ValueKind<CountOrAll>.countOrAll.parse("all") == .all)
    #expect(ValueKind<CountOrAll>.countOrAll.parse("5") == .count(5))
    #expect(ValueKind<CountOrAll>.countOrAll.parse("0") == nil)
    #expect(ValueKind<Tolerance>.tolerance.parse("unlimited") == .unlimited)
    #expect(ValueKind<Tolerance>.portion.parse("90%") == .percent(Percent(value: 90)))
    #expect(ValueKind<Tolerance>.portion.parse("90") == .count(90))
    for text in ["unlimited", "101%", "-1", ""] {
      #expect(ValueKind<Tolerance>.portion.parse(text) == nil)
    }
    #expect(!ValueKind<Tolerance>.portion.allowed.contains("unlimited"))
    #expect(ValueKind<Tolerance>.tolerance.parse("3") == .count(3))
    #expect(ValueKind<Tolerance>.tolerance.parse("0.5%") == .percent(Percent(value: 0.5)))
    #expect(ValueKind<Tolerance>.tolerance.parse("some") == nil)
  }

  @Test("Percentages are numbers from 0 to 100 before a percent sign")
  func percentages() {
    let kind = ValueKind<Percent>.percent
    #expect(kind.parse("50%") == Percent(value: 50))
    #expect(kind.parse("0%") == Percent(value: 0))
    #expect(kind.parse("100%") == Percent(value: 100))
    for text in ["50", "%", "101%", "-1%", "nan%", "inf%", "1e1%", "0x1%", ".5%", "5.%%", "1.2.3%"]
    {
      #expect(kind.parse(text) == nil, "\(text)")
    }
  }

  @Test("Delimiters and other characters are given literally or by a name")
  func characters() {
    for (text, value) in [
      (",", ","), ("\\t", "\t"), ("\t", "\t"), ("||", "||"), ("§", "§"), ("none", "none"),
      ("\\x1f", "\u{1F}"), ("\\u{1}", "\u{1}"), ("\\u{A7}", "§"), ("\\u", "\\u"),
      ("\\t|\\t", "\t|\t"), ("\\", "\\"), ("\\x", "\\x"),
    ] {
      #expect(ValueKind<String>.delimiter.parse(text) == value, "\(text)")
    }
    for text in [
      "", "\\u{}", "\\u{a}", "\\u{+1}", "\\u{110000}", "abcde", "§§§", "\n", "\r", "a\r\n", "\\x0a",
      "\\x80", "\\xzz",
    ] {
      #expect(ValueKind<String>.delimiter.parse(text) == nil, "\(text)")
    }
    #expect(ValueKind<String>.comment.parse("none") == "")
    #expect(ValueKind<String>.comment.parse("--") == "--")
    #expect(ValueKind<String>.comment.parse("") == nil)
    #expect(ValueKind<UInt8?>.characterOrNone.parse("none") == .some(nil))
    #expect(ValueKind<UInt8?>.characterOrNone.parse("'") == .some(UInt8(ascii: "'")))
    #expect(ValueKind<UInt8?>.characterOrNone.parse("''") == nil)
  }

  @Test("Lists of names are separated by commas, with quotes as in CSV")
  func nameLists() {
    let kind = ValueKind<[String]>.nameList
    #expect(kind.parse("a") == ["a"])
    #expect(kind.parse("a,b c,é") == ["a", "b c", "é"])
    #expect(kind.parse("\"a,b\",c") == ["a,b", "c"])
    #expect(kind.parse("c,\"a \"\"b\"\"\"") == ["c", "a \"b\""])
    for text in ["", ",", "a,", ",a", "a,,b", "\"a", "\"a\"b", "\"\"", "\"a\",", "\"a\"\"", "\""] {
      #expect(kind.parse(text) == nil, "\(text)")
    }
  }

  /// Names as CSV files may have them. A combining mark makes another character of the sign before it.
  private static let oddNames = [
    "a", "a,b", "a:b", "\"", "\"a\"", "\\", "a\\:", "%d", "é", "\u{301}", ",\u{301}x", "\"\u{301}",
    "a\"\u{301},b", "\\\u{301}", ":\u{301}", "\u{600}\"", "\u{600},\"\u{301}:\u{301}", "'\u{301}",
    "\r\n", "\n,\n", "=\u{301}",
  ]

  @Test("What is written for an option is read as what it was")
  func writtenLists() {
    let names = Self.oddNames
    #expect(Self.bytes(ColumnList.names(ColumnList.written(names))) == Self.bytes(names))
    for (index, name) in names.enumerated() {
      let other = names[(index * 7 + 3) % names.count]
      #expect(Self.bytes(ColumnList.names(ColumnList.written([name]))) == Self.bytes([name]))
      let written = ColumnList.written([(name, other), (other, name)])
      let read = ColumnList.entries(written)?.map { Self.bytes(ColumnList.parts($0)) }
      #expect(read == [Self.bytes([name, other]), Self.bytes([other, name])], "\(written)")
      let format = ColumnList.escaped(name).replacing(sign: "%", with: "\\%") + ":%d"
      let date = ValueKind<ImportOptions.DateFormat>.dateFormat.parse(format)
      #expect(date?.column.map { Array($0.utf8) } == Array(name.utf8), "\(format)")
      #expect(date?.format == "%d")
      let added = ValueKind<AddedColumn>.addedColumn.parse("x=" + name)
      #expect(added.map { Array($0.template.utf8) } == Array(name.utf8))
    }
  }

  @Test("A word for a shell is one word of it")
  func shellWords() throws {
    for name in Self.oddNames + ["", "a b", "$(x)", "it's", "`x`", "~", "-\u{301}"] {
      for word in [ShellWord.quoted(name), ShellWord.inQuotes(name)] {
        let shell = try SheafProcess.run(["-c", "printf %s \(word)"], program: "/bin/sh")
        #expect(shell.output == Array(name.utf8), "\(word)")
      }
    }
  }

  /// Bytes instead of texts: `==` takes texts that only look the same for equal.
  private static func bytes(_ names: [String]?) -> [[UInt8]]? { names?.map { Array($0.utf8) } }

  @Test("The words of --header and --types are parsed")
  func headersAndTypes() {
    #expect(ValueKind<HeaderChoice>.header.parse("yes") == .firstRecord)
    #expect(ValueKind<HeaderChoice>.header.parse("no") == .absent)
    #expect(ValueKind<HeaderChoice>.header.parse("a,b") == .names(["a", "b"]))
    let kind = ValueKind<TypesChoice>.types
    #expect(kind.parse("infer") == .infer)
    #expect(kind.parse("text") == .text)
    #expect(
      kind.parse("a:int,x:y:date")
        == .named([NamedType(column: "a", type: .int), NamedType(column: "x:y", type: .date)]))
    for text in ["", "int", "a:", ":int", "a:integer", "a:int,", "a:INT"] {
      #expect(kind.parse(text) == nil, "\(text)")
    }
  }

  @Test("A choice reads exact names only, and lists those that are allowed")
  func choicesNameWhatIsAllowed() {
    let kind = ValueKind<Durability>.choice
    #expect(kind.parse("full") == .full)
    #expect(kind.parse("FULL") == nil)
    #expect(kind.placeholder == "full|group|none")
    #expect(kind.allowed == "full, group or none")
  }
}

/// The names that an error offers for a mistyped word.
@Suite struct SuggestionTests {
  @Test("The edit distance counts letters added, removed, replaced and swapped with neighbours")
  func distances() {
    #expect(Suggestion.editDistance("", "") == 0)
    #expect(Suggestion.editDistance("", "abc") == 3)
    #expect(Suggestion.editDistance("kitten", "sitting") == 3)
    #expect(Suggestion.editDistance("imprt", "import") == 1)
    #expect(Suggestion.editDistance("ipmort", "import") == 1)
  }

  @Test("Only a near name is suggested, and none for an empty or a very long word")
  func onlyNearNamesAreOffered() {
    let names = ["import", "info", "into", "batch-size", "compact", "compact-above"]
    #expect(Suggestion.nearest(to: "imprt", among: names) == "import")
    #expect(Suggestion.nearest(to: "batchsize", among: names) == "batch-size")
    #expect(Suggestion.nearest(to: "batch", among: names) == "batch-size")
    #expect(Suggestion.nearest(to: "xyz", among: names) == nil)
    #expect(Suggestion.nearest(to: "c", among: ["a", "b"]) == nil)
    #expect(Suggestion.nearest(to: "A", among: ["a", "b"]) == "a")
    #expect(Suggestion.nearest(to: "", among: names) == nil)
    #expect(Suggestion.nearest(to: String(repeating: "i", count: 5000), among: names) == nil)
  }
}
