import Base
import TestSupport
import Testing

@testable import Importer

/// The encoding that is named for text that is not UTF-8: sentences in real languages.
@Suite struct EncodingGuessTests {
  static let russian = "имя,город\nИван,Москва\nМария,\"Съешь ещё этих мягких французских булок\"\n"
  static let japanese = "名前,備考\n田中太郎,これはテストです。よろしくお願いします\n鈴木,表示ソフトウェア\n"
  static let simplified = "姓名,备注\n张伟,我们今天去公园散步，天气很好\n王芳,这个产品的质量不错\n"
  static let traditional = "姓名,備註\n陳小明,我們今天去公園散步，天氣很好\n林美麗,這個產品的品質不錯\n"
  static let korean = "이름,메모\n김철수,오늘은 날씨가 좋아서 산책을 했습니다\n이영희,이 제품은 품질이 좋습니다\n"
  static let greek = "όνομα,πόλη\nΓιώργος,Αθήνα\nΜαρία,Καλημέρα σας και ευχαριστώ πολύ\n"
  static let french = "prénom,ville\nHélène,Orléans\nJérôme,\"C'était très agréable, à bientôt\"\n"
  static let polish = "imię,miasto\nPaweł,Łódź\nMałgorzata,Zażółć gęślą jaźń\n"
  static let turkish = "ad,şehir\nAyşe,İzmir\nIşıl,Bugün hava çok güzel değil mi\n"
  static let hebrew = "שם,עיר\nדוד,ירושלים\nשרה,היום מזג האוויר יפה\n"
  static let arabic = "الاسم,المدينة\nمحمد,القاهرة\nعلي,الطقس جميل اليوم\n"
  static let thai = "ชื่อ,เมือง\nสมชาย,กรุงเทพ\nมาลี,วันนี้อากาศดีมาก\n"

  /// Encodes text by iconv, the reverse of what is tested.
  static func encoded(_ text: String, _ name: String) throws -> [UInt8]? {
    let encoding = try TextEncoding(named: name)
    if encoding == .utf16LE || encoding == .utf16BE {
      return text.utf16.flatMap { unit -> [UInt8] in
        let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
        return encoding == .utf16LE ? [low, high] : [high, low]
      }
    }
    guard let converter = encoding.converter ?? CharacterConverter("CP1252") else { return nil }
    var codes: [Unicode.Scalar: [UInt8]] = [:]
    for first in 0...0xFF as ClosedRange<UInt8> {
      var candidates = [[first]]
      if converter.meaning(of: [first]) == .beginning {
        candidates = (0x30...0xFF as ClosedRange<UInt8>).map { [first, $0] }
      }
      for code in candidates {
        guard case .text(let bytes) = converter.meaning(of: code) else { continue }
        let scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.count == 1 { codes[scalars[0]] = codes[scalars[0]] ?? code }
      }
    }
    return text.unicodeScalars.flatMap { codes[$0] ?? [0x3F] }
  }

  @Test(
    "The encoding of texts in many languages is guessed",
    arguments: [
      (russian, "windows-1251", "windows-1251"), (russian, "koi8-r", "koi8-r"),
      (russian, "iso-8859-5", "iso-8859-5"), (russian, "cp866", "cp866"),
      (japanese, "cp932", "cp932"), (japanese, "euc-jp", "euc-jp"), (simplified, "gbk", "gb18030"),
      (traditional, "big5", "big5-hkscs"), (korean, "euc-kr", "cp949"),
      (greek, "windows-1253", "windows-1253"), (french, "windows-1252", "windows-1252"),
      (french, "cp850", "cp850"), (french, "macintosh", "macintosh"),
      (polish, "windows-1250", "windows-1250"), (polish, "iso-8859-2", "iso-8859-2"),
      (turkish, "windows-1254", "windows-1254"), (hebrew, "windows-1255", "windows-1255"),
      (arabic, "windows-1256", "windows-1256"), (thai, "windows-874", "windows-874"),
      (russian, "utf-16le", "utf-16le"), (russian, "utf-16be", "utf-16be"),
      (japanese, "utf-16le", "utf-16le"), (french, "utf-16be", "utf-16be"),
    ])
  func languages(text: String, encoding: String, named: String) throws {
    guard let bytes = try Self.encoded(text, encoding) else { return }
    let guess = try #require(EncodingGuess.ofInput(bytes, isWhole: true))
    #expect(guess.encoding.rawValue == named && guess.isLikely, "\(guess)")
    #expect(guess.note.contains("--encoding \(named)"))
    #expect(!guess.others.contains(guess.encoding))
    // The same if the sample ends within a character.
    let cut = EncodingGuess.ofInput(Array(bytes.dropLast(2)), isWhole: false)
    #expect(cut?.encoding.rawValue == named, "\(String(describing: cut))")
  }

  /// Text that is UTF-8, or was before it was damaged, is not taken for another encoding.
  @Test func damagedUTF8() {
    for text in [Self.russian, Self.japanese, Self.french, "a,b\n1,2\n", ""] {
      #expect(EncodingGuess.ofInput(Array(text.utf8), isWhole: true) == nil)
      // A character truncated at the end of the sample, and two bytes that are no character.
      #expect(
        EncodingGuess.ofInput(Array(text.utf8) + [0xE3, 0x81], isWhole: false) == nil
          || text.isEmpty || text == "a,b\n1,2\n")
    }
    #expect(EncodingGuess.ofInput(Array(Self.russian.utf8) + [0xFF, 0xE9], isWhole: true) == nil)
    let nul = Array("a,b\n\0\0\0\0\0\0\0\0\0\0,2\n".utf8)
    #expect(EncodingGuess.unmarked(nul) == nil)
  }

  /// An encoding that is named explains every byte.
  @Test func everyByteIsExplained() throws {
    for seed in 0..<40 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let bytes = (0..<Int.random(in: 1...30, using: &random)).map { _ in
        UInt8.random(in: 0x80...0xFF, using: &random)
      }
      guard let guess = EncodingGuess.ofInput(bytes, isWhole: true) else { continue }
      for encoding in [guess.encoding] + guess.others where encoding.form == .system {
        let converter = try #require(encoding.converter)
        guard case .text = converter.meaning(of: bytes) else {
          Issue.record("\(encoding.rawValue) does not explain \(bytes)")
          continue
        }
      }
    }
  }

  /// No encoding is named without evidence.
  @Test func unlikelyText() throws {
    let bytes: [UInt8] = Array("a,b\n".utf8) + Array(0x80...0xFF) + [0x0A]
    let guess = try #require(EncodingGuess.ofInput(bytes, isWhole: false))
    #expect(guess.note.contains("every byte of its first 64 KiB"))
    #expect(EncodingGuess.likely([0x63, 0x81], isWhole: true) == nil)
    #expect(EncodingGuess.likely([0x63, 0xE9], isWhole: true)?.encoding == .windows1252)
  }
}
