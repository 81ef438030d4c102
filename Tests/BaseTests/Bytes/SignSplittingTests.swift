import Base
import Testing

/// Signs are found byte by byte, whatever characters they are part of.
@Suite struct SignSplittingTests {
  @Test(
    "Texts are split and replaced at each comma, also before a combining mark",
    arguments: [
      ("", [""]), (",", ["", ""]), ("a,b", ["a", "b"]), (",a,,", ["", "a", "", ""]),
      ("a,\u{301}b", ["a", "\u{301}b"]), ("\u{600},b", ["\u{600}", "b"]), ("é", ["é"]),
    ])
  func parts(text: String, parts: [String]) {
    #expect(text.parts(at: ",") == parts)
    #expect(text.replacing(sign: ",", with: "::") == parts.joined(separator: "::"))
    #expect(text.contains(sign: ",") == (parts.count > 1))
    #expect(text.begins(withSign: ",") == (parts.count > 1 && parts[0].isEmpty))
    let slashes = text.replacing(sign: ",", with: "/")
    #expect(System.name(of: slashes) == parts.last { !$0.isEmpty } ?? slashes)
  }
}
