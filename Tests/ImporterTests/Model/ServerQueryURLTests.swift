import Testing

@testable import Importer

/// Queries in servers' URLs.
@Suite struct ServerQueryURLTests {
  @Test(
    "The query is taken out of the URL",
    arguments: [
      ("postgresql://h/d?query=SELECT 1", "postgresql://h/d", "SELECT 1"),
      (
        "postgresql://u:p?w@h/d?query=a%26b%25&sslmode=require",
        "postgresql://u:p?w@h/d?sslmode=require", "a&b%"
      ),
      ("postgres://h?a=b&query=%C3%A9 ; ", "postgres://h?a=b", "é"),
      ("postgresql:///d?query=SELECT '@', a=b?", "postgresql:///d", "SELECT '@', a=b?"),
      ("postgresql://u@h:1,i:2/d?query=x", "postgresql://u@h:1,i:2/d", "x"),
    ])
  func queries(_ word: String, _ address: String, _ text: String) throws {
    let query = try #require(try ServerQuery(word))
    #expect(query.address == address && query.text == text)
  }

  @Test("What is shown has no password, and is one line")
  func shown() throws {
    let query = try #require(try ServerQuery("postgresql://u:SECRET@h/d?query=SELECT%0A  1"))
    #expect(query.shown == "postgresql://u@h/d?query=SELECT 1")
    let parameter = try #require(try ServerQuery("postgresql://h/d?query=TABLE t&port=1"))
    #expect(parameter.shown == "postgresql://h/d?port=1&query=TABLE t")
    let hidden = try #require(
      try ServerQuery("postgresql://h/d?query=SELECT dblink('password=SECRET')"))
    #expect(hidden.shown == "postgresql://h/d?query=...")
  }

  @Test(
    "What cannot be read is refused",
    arguments: [
      "postgresql://h/d", "postgresql://h/d?", "postgresql://h/d?query=",
      "postgresql://h/d?query=%",
      "postgresql://h/d?query=%2", "postgresql://h/d?query=%+1", "postgresql://h/d?query=%00",
      "postgresql://h/d?query=%ff", "postgresql://h/d?query= ;; ",
      "postgresql://h/d?query=a&query=b",
      "postgresql://", "postgres://u:SECRET@",
    ])
  func refused(_ word: String) {
    #expect(throws: ImportError.self) { try ServerQuery(word) }
  }

  @Test("Files are no queries", arguments: ["a.csv", "-", "query=x", "./postgresql://h", "host=h"])
  func files(_ word: String) throws { #expect(try ServerQuery(word) == nil) }
}
