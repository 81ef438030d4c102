import Testing

@testable import Importer

/// Names of encodings, and names that are refused.
@Suite struct TextEncodingTests {
  @Test(
    "An encoding is found by its usual names, and by the name in reports",
    arguments: [
      ("UTF8", "utf-8"), ("utf-8", "utf-8"), ("ISO-8859-1", "latin1"), ("iso8859-1", "latin1"),
      ("Latin-1", "latin1"), ("cp1252", "windows-1252"), ("CP-1252", "windows-1252"),
      ("UTF-16LE", "utf-16le"), ("utf16", "utf-16le"), ("utf16be", "utf-16be"),
      ("SJIS", "cp932"), ("Shift_JIS", "cp932"), ("shift-jis", "cp932"), ("ms932", "cp932"),
      ("windows-31j", "cp932"), ("GBK", "gb18030"), ("gb2312", "gb18030"), ("euc-kr", "cp949"),
      ("ks_c_5601-1987", "cp949"), ("uhc", "cp949"), ("Big5", "big5-hkscs"), ("ujis", "euc-jp"),
      ("latin9", "iso-8859-15"), ("latin-9", "iso-8859-15"), ("ISO_8859-15", "iso-8859-15"),
      ("KOI8-R", "koi8-r"), ("cp1251", "windows-1251"), ("windows1251", "windows-1251"),
      ("IBM437", "cp437"), ("866", "cp866"), ("mac", "macintosh"), ("TIS-620", "tis-620"),
    ])
  func aliases(name: String, canonical: String) throws {
    let encoding = try TextEncoding(named: name)
    #expect(encoding.rawValue == canonical)
    // The name in a report means the same encoding.
    #expect(TextEncoding(rawValue: encoding.rawValue) == encoding)
    #expect(TextEncoding(tried: canonical) == encoding)
  }

  @Test(
    "Encodings that cannot be read are refused",
    arguments: [
      ("bogus", "iconv -l"), ("", "not known"), ("cp932//TRANSLIT", "not known"),
      ("a\0b", "not known"),
      ("iso-2022-jp", "0x1B"), ("utf-7", "single bytes of ASCII"),
      ("utf-32", "iconv -f utf-32 -t UTF-8"),
      ("ucs-4", "single bytes"), ("ibm037", "single bytes"), ("johab", "0x5C"),
      ("tscii", "bytes before"),
    ])
  func refused(name: String, part: String) {
    #expect { try TextEncoding(named: name) } throws: { "\($0)".contains(part) }
    #expect(TextEncoding(rawValue: name) == nil)
  }
}
