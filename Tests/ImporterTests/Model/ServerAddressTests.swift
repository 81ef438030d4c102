import Importer
import Testing

/// Which inputs are servers, and how their addresses are shown.
@Suite struct ServerAddressTests {
  @Test(
    "Servers are told from files",
    arguments: [
      ("postgresql://h/d", true), ("postgres://", true), ("host=h dbname=d", true),
      ("dbname=x", true),
      ("service=prod", true), ("a.sheaf", false), ("./host=h", false), ("/tmp/host=h", false),
      ("hosts=h", false), ("postgresql", false), ("", false), ("POSTGRESQL://h", false),
      ("password=x host=h", true), (" host=h", true), ("host = h", true), ("host h=", false),
      ("=host", false), ("connect_timeout=3 host=h", true), ("HOST=h", false), ("host", false),
    ])
  func servers(_ text: String, _ isServer: Bool) {
    #expect(ServerAddress.isServer(text) == isServer)
  }

  @Test(
    "Addresses of something else are told from files, and shown without passwords",
    arguments: [
      ("mysql://u:SECRET@h/d", "mysql://u@h/d"), ("POSTGRESQL://u:SECRET@h", "POSTGRESQL://u@h"),
      ("jdbc:postgresql://h/d?user=u&password=SECRET", "jdbc:postgresql://h/d?user=u"),
      (" postgresql://u:SECRET@h/d", " postgresql://u@h/d"), ("./a://b:c@d", nil),
      ("a:/b:c@d", nil),
      ("a/b://c:d@e", nil), ("é://b:c@d", nil), ("postgresql://u@h", nil), ("a:b", nil),
      ("://", "://"),
    ])
  func others(_ word: String, _ shown: String?) {
    #expect(ServerAddress.isOfOther(word) == (shown != nil))
    if let shown { #expect(ServerAddress.withoutPassword(word) == shown) }
  }

  @Test(
    "No password is shown, however it is written",
    arguments: [
      "postgresql://u:SECRET@h:5/d", "postgresql://u:SECRET@x@h/d", "postgresql://u:p@SECRET@h/d",
      "postgresql://u:a/SECRET@h/d",
      "postgresql://u:a?SECRET@h/d", "postgresql://h/d?password=SECRET",
      "postgresql://h/d?user=u&PASSWORD=SECRET",
      // Combining marks, which make another character of the sign before them.
      "postgresql://u:\u{301}SECRET@h/d", "postgresql://u:SECRET@\u{301}h/d",
      "postgresql://h/d?\u{301}password=SECRET", "postgresql://h/d?user=u&\u{301}password=SECRET",
      "postgresql://h/d?pas\u{301}sword=SECRET", "host=h password=\u{301}SECRET",
      "host=h password='\u{301}a SECRET'", "host=h user=\\\u{301} dbname=SECRET",
      "postgresql://u:a\u{600}@h:SECRET@\u{301}h/d",
      "postgresql://h/d?sslpassword=SECRET&sslmode=require", "postgresql://h/d?pass%77ord=SECRET",
      "postgresql://:SECRET@/d", "postgres://u:SECRET@h1,h2:3/d?target_session_attrs=any",
      "host=h password=SECRET dbname=d", "host=h password = SECRET",
      "host=h password='a SECRET' user=x",
      "host=h password=a\\ SECRET", "host=h dbname=d passfile=SECRET",
      "dbname=postgresql://u:SECRET@h/d",
      // Accents, which make another character of the sign before them.
      "postgresql://u:\u{301}SECRET@h/d", "postgresql://u:SECRET@\u{301}h/d",
      "postgresql://\u{301}u:SECRET@h/d", "postgresql://u@h/d?\u{301}x=1&\u{301}password=SECRET",
      "host=h password='\u{301} host=SECRET'", "host=h password=\\\u{301} host=SECRET",
      "host=h password=a\u{A0}host=SECRET", "dbname=postgresql://u:\u{301}SECRET@h/d",
    ])
  func passwords(_ address: String) {
    #expect(!ServerAddress.shown(address).contains("SECRET"), "\(ServerAddress.shown(address))")
  }

  @Test("What is no secret is shown")
  func shown() {
    #expect(
      ServerAddress.shown("postgresql://u:p@h:5/d?sslmode=require")
        == "postgresql://u@h:5/d?sslmode=require")
    #expect(ServerAddress.shown("postgresql://h/d") == "postgresql://h/d")
    #expect(ServerAddress.shown("host=h port=5 password=x dbname=d") == "host=h port=5 dbname=d")
  }
}
