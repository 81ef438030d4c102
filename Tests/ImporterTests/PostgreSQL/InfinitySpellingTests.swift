import Testing

@testable import Importer

/// Infinities in a query's rows.
@Suite struct InfinitySpellingTests {
  @Test(
    "An infinity is spelled as Sheaf's are in columns of numbers, and nowhere else",
    arguments: [
      ("Infinity\n", "inf\n"), ("-Infinity,Infinity,1\n", "-inf,Infinity,1\n"),
      ("1,\"a,Infinity\nInfinity\",-Infinity\n", "1,\"a,Infinity\nInfinity\",-inf\n"),
      ("1,\"\"\"\",Infinity\n", "1,\"\"\"\",inf\n"), (",,\n", ",,\n"),
      ("Infinityx,Infinity,xInfinity\n", "Infinityx,Infinity,xInfinity\n"),
      ("--Infinity,1,\"Infinity\"\n", "--Infinity,1,\"Infinity\"\n"),
      ("Infinity,a,Infinity,Infinity", "inf,a,inf,Infinity"), ("", ""), ("I\n", "I\n"),
    ])
  func spellings(_ row: String, _ expected: String) {
    let spellings = InfinitySpellings([true, false, true])
    let found = Array(row.utf8).withUnsafeBytes { row in
      spellings.withSpellings(row) { String(decoding: $0, as: UTF8.self) }
    }
    #expect(found == expected)
    let others = Array(row.utf8).withUnsafeBytes { row in
      InfinitySpellings([false]).withSpellings(row) { String(decoding: $0, as: UTF8.self) }
    }
    #expect(others == row)
  }
}
