import Base

/// The names of encodings: Sheaf's, the system's, and others in use.
enum EncodingNames {
  /// Other names of one encoding, without dashes and similar signs. The first word is its name.
  private static let families: [[String]] = [
    ["utf-8", "utf8sig", "utf8bom", "unicode11utf8", "cp65001"],
    [
      "latin1", "iso88591", "l1", "isolatin1", "cp819", "ibm819", "iso885911987", "isoir100",
      "csisolatin1",
    ],
    ["windows-1252", "cp1252", "win1252", "ansi", "xcp1252", "mswin1252", "ms1252"],
    // Without a byte-order mark, such an input usually has this encoding.
    ["utf-16le", "utf16", "ucs2le", "ucs2", "unicode", "unicodelittle", "iso10646ucs2"],
    ["utf-16be", "ucs2be", "unicodebig", "unicodefffe"],
    [
      "cp932", "sjis", "shiftjis", "mskanji", "ms932", "windows31j", "windows932", "csshiftjis",
      "xsjis", "sjiswin", "sjisopen", "ibm943",
    ],
    ["euc-jp", "eucjp", "ujis", "xeucjp", "eucjpms", "eucjpwin", "cseucpkdfmtjapanese"],
    [
      "gb18030", "gb2312", "gbk", "euccn", "cp936", "ms936", "windows936", "xgbk", "chinese",
      "csgb2312", "gb231280", "gb180302005",
    ],
    ["big5-hkscs", "big5", "bigfive", "cp950", "big5eten", "csbig5", "xxbig5", "cnbig5"],
    [
      "cp949", "euckr", "uhc", "windows949", "ms949", "korean", "ksc5601", "ksc56011987",
      "ksc56011989", "csksc56011987", "cseuckr", "ksx1001",
    ],
    ["koi8-r", "koi8", "koi", "cskoi8r"], ["koi8-u", "koi8ru"],
    ["macintosh", "mac", "macroman", "xmacroman", "csmacintosh"],
    ["windows-874", "cp874", "dos874"],
    ["iso-8859-2", "latin2", "l2", "isolatin2"], ["iso-8859-3", "latin3", "l3"],
    ["iso-8859-4", "latin4", "l4"], ["iso-8859-5", "cyrillic"], ["iso-8859-6", "arabic"],
    ["iso-8859-7", "greek", "greek8"], ["iso-8859-8", "hebrew"],
    ["iso-8859-9", "latin5", "l5", "turkish"], ["iso-8859-10", "latin6", "l6"],
    ["iso-8859-13", "latin7", "l7"], ["iso-8859-14", "latin8", "l8"],
    ["iso-8859-15", "latin9", "l9", "latin0"], ["iso-8859-16", "latin10", "l10"],
  ]

  /// The system's names of some encodings; the first that `iconv` knows is used.
  private static let names: [String: [String]] = [
    "euc-jp": ["EUC-JP-MS", "EUC-JP"], "big5-hkscs": ["BIG5-HKSCS", "BIG5HKSCS", "BIG5"],
    "cp949": ["CP949", "UHC"], "cp932": ["CP932", "WINDOWS-31J"],
    "windows-874": ["WINDOWS-874", "CP874"],
  ]

  private static let known: [String: String] = {
    var known: [String: String] = [:]
    for family in families {
      guard let name = family.first else { continue }
      for alias in family { known[bare(alias)] = name }
    }
    for page in 1250...1258 where page != 1252 {
      for alias in ["windows", "cp", "win", "ms", "xcp"] {
        known[alias + "\(page)"] = "windows-\(page)"
      }
    }
    for page in [437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869] {
      for alias in ["cp", "ibm", "dos", ""] { known[alias + "\(page)"] = "cp\(page)" }
    }
    for part in 2...16 {
      for alias in ["iso8859", "8859"] { known[alias + "\(part)"] = "iso-8859-\(part)" }
    }
    return known
  }()

  /// The names for suggestions after a typing mistake, and for completion in a shell.
  static let suggested: [String] =
    TextEncoding.builtIn.map(\.rawValue) + families.dropFirst(5).compactMap(\.first)
    + [1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258].map { "windows-\($0)" }
    + [
      "shift_jis", "gbk", "big5", "euc-kr", "cp437", "cp850", "cp852", "cp866", "latin9", "tis-620",
    ]

  private static func bare(_ name: String) -> String {
    String(
      name.lowercased().filter { $0 != "-" && $0 != "_" && $0 != " " && $0 != "." && $0 != ":" })
  }

  static func canonical(_ name: String) -> String { known[bare(name)] ?? name.lowercased() }

  static func systemNames(_ canonical: String) -> [String] {
    if let names = names[canonical] { return names }
    guard canonical.hasPrefix("windows-") else { return [canonical.uppercased()] }
    return ["CP" + canonical.dropFirst(8), canonical.uppercased()]
  }

  /// The system's converter for the encoding with this name; nil when there is none.
  static func converter(_ canonical: String) -> CharacterConverter? {
    for name in systemNames(canonical) {
      if let converter = CharacterConverter(name) { return converter }
    }
    return nil
  }

  /// The error for a name that the system does not know.
  static func unknown(_ name: String) -> ImportError {
    if known[bare(name)] != nil {
      return .invalidOption(
        "encoding '\(name)' is not known to this system's iconv, whose modules may not be installed (glibc "
          + "has them in a folder gconv, some distributions in a package of their own); install them, or "
          + "convert the input elsewhere")
    }
    return .invalidOption(
      "encoding '\(name)' is not known; 'iconv -l' lists those that are")
  }

  /// Why an encoding cannot be read; nil when it can. Tests the meanings of its bytes.
  static func problem(_ converter: CharacterConverter) -> String? {
    var wrong: [UInt8] = []
    for byte in 0..<0x80 as Range<UInt8> where converter.meaning(of: [byte]) != .text([byte]) {
      wrong.append(byte)
    }
    if let first = wrong.first {
      let hex = "0x" + String(first, radix: 16, uppercase: true)
      return wrong.count > 32
        ? "its ASCII characters are not single bytes of ASCII"
        : "byte \(hex) is not the character of ASCII in it, or means something in what follows"
    }
    // A combining mark may combine with the letter before it, which gives the same text. Any other difference
    // means that the encoding has a state.
    var texts: [UInt8: String] = [:]
    for byte in 0x80...0xFF as ClosedRange<UInt8> {
      if case .text(let text) = converter.meaning(of: [byte]) {
        texts[byte] = String(decoding: text, as: UTF8.self)
      }
    }
    for (first, text) in texts {
      for (second, next) in texts
      where !(0x300..<0x370).contains(next.unicodeScalars.first?.value ?? 0) {
        guard case .text(let both) = converter.meaning(of: [first, second]),
          String(decoding: both, as: UTF8.self) == text + next
        else { return "what a byte means in it depends on the bytes before" }
      }
    }
    return nil
  }
}
