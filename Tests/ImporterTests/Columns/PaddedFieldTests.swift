import Engine
import Importer
import Testing

/// Blanks around fields, with and without `--trim`.
@Suite struct PaddedFieldTests {
  private func imported(
    _ csv: String, _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> (folder: ImportFolder, report: ImportReport) {
    let folder = try ImportFolder()
    let report = try folder.importCSV(csv) {
      $0.header = .firstRecord
      $0.delimiter = ","
      change(&$0)
    }
    return (folder, report)
  }

  @Test("Padded values are typed, and keep their blanks")
  func areReadAndKept() throws {
    let csv = """
      n,d,m,b,t,w
       5 ,\t2018-08-03, 2018-08-03 10:00 , true,x , 1.234
      -7,2018-08-04 ,2018-08-05,false , y,2\u{20}

      """
    for batch in [ImportOptions.BatchSize.records(1), .all] {
      let (folder, _) = try imported(csv) { $0.batchSize = batch }
      #expect(try folder.types() == "n int, d date, m datetime, b bool, t text, w double")
      #expect(try folder.exportText() == csv)
      try folder.expectSound()
      let database = try Database.open(folder.database, options: .init(access: .readOnly))
      let table = try database.snapshot().table("t")
      for filter in [
        "n == 5", "n > 0 and d == '2018-08-03'",
        "m > '2018-08-03T09:59:00Z' and b == true and w < 2",
        "m == '2018-08-05'",
      ] {
        #expect(try Query(try Predicate(filter)).count(in: table) == 1, "\(filter)")
      }
      try database.close()
    }
  }

  @Test("Padded values in notations are typed")
  func datesInNotations() throws {
    let csv = "a,b,c\n 25.08.2018,yes ,\"1,5 \"\n3.8.2018 , no,\" 2,25\"\n"
    let (folder, _) = try imported(csv) { $0.decimalMark = .comma }
    #expect(try folder.types() == "a date, b bool, c double")
    #expect(try folder.exportText() == csv)
    try folder.expectSound()
  }

  @Test("Trimmed fields lose their blanks")
  func trimmed() throws {
    let csv = "k, t ,n\n  a  ,\" x \",   \n\tb,\"  \",5\n"
    let (folder, _) = try imported(csv) { $0.trimsFields = true }
    #expect(try folder.exportText() == "k,t,n\na,x,\nb,\"\",5\n")
    #expect(try folder.types() == "k text, t text, n int")
    // With a doubled quote, and with words for null.
    let (other, _) = try imported("t,n\n\" a \"\"b\"\" \", NULL \n\"  \"\"\",7\n") {
      $0.trimsFields = true
      $0.nulls = ["NULL"]
    }
    #expect(try other.exportText() == "t,n\n\"a \"\"b\"\"\",\n\"\"\"\",7\n")
  }

  /// Keys are compared as they are spelled: a key with blanks is another one, and no number finds it.
  @Test func keys() throws {
    let csv = "id,x\n1,a\n 1,b\n"
    let (folder, _) = try imported(csv) { $0.key = "id" }
    #expect(try folder.types() == "id text, x text")
    let late = "id,x\n" + (1...3000).map { "\($0),a\n" }.joined() + "7 ,b\n"
    let (far, _) = try imported(late) { $0.key = "id" }
    #expect(try far.types() == "id text, x text")
    let (told, report) = try imported(csv) {
      $0.key = "id"
      $0.types = .named(["id": .int])
      $0.maxRejects = .unlimited
    }
    #expect(report.rejected == 1 && report.imported == 1)
    #expect(try told.text("t.rejects.csv.reasons.jsonl").contains("--trim"))
    let (trimmed, repeated) = try imported(csv) {
      $0.key = "id"
      $0.trimsFields = true
      $0.conflictPolicy = .update
    }
    #expect(try trimmed.types() == "id int, x text")
    #expect(repeated.updated == 1)
  }

  /// `+4930123456` is a telephone number, not an integer.
  @Test func telephoneNumbers() throws {
    let (folder, _) = try imported("p,n\n+4930123456,+5\n004930123456,7\n")
    #expect(try folder.types() == "p text, n int")
    let (plus, _) = try imported("p,n\n+4930123456,+5\n+4930123457,7\n")
    #expect(try plus.types() == "p text, n int")
    // In an emptied table the column is guessed anew, with the same result.
    try plus.importCSV("p,n\n+4930123456,+5\n+4930123457,7\n") {
      $0.header = .firstRecord
      $0.truncate = true
    }
    #expect(try plus.types() == "p text, n int")
    let (key, _) = try imported("p,n\n+4930123456,+5\n") { $0.key = "p" }
    #expect(try key.types() == "p text, n int")
  }
}
