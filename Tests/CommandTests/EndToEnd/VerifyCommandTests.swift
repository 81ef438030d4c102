import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf verify`: every record is in the table to the letter, or in the rejects.
@Suite struct VerifyCommandTests {
  private let rows =
    "id,name,n\n1,\"a,b\",1.50\n2,\"two\nlines\",2\n3,,\n4,\"\",4\n5,x,5,more\n6,y\n7,z,7\n"

  private func imported(_ text: String, _ more: String...) throws -> Workbench {
    let bench = try Workbench()
    try bench.write("in.csv", text)
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--quiet",
        "--max-rejects", "unlimited",
      ] + more)
    return bench
  }

  private func verify(
    _ bench: Workbench, _ more: String..., isGood: Bool = true,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Report {
    let result = try SheafProcess.run(
      ["verify", bench.database, bench.path("in.csv"), "--report", "json"] + more)
    #expect(
      result.status == (isGood ? 0 : 65), "\(result.errorText)\(result.outputText)",
      sourceLocation: sourceLocation)
    let report = try Report(result.output)
    let counts = ["found", "repeated", "rejected", "filtered", "missing", "differing"].map {
      report[$0].int ?? -1
    }
    #expect(report["read"].int == counts.reduce(0, +), sourceLocation: sourceLocation)
    #expect(report["ok"].bool == isGood, sourceLocation: sourceLocation)
    bench.expectNothingLeft()
    return report
  }

  /// Without a key, equal records need as many equal objects.
  @Test func equalRecords() throws {
    let bench = try imported("a,b\n1,x\n2,y\n2,y\n3,z\n")
    for (text, missing, reason) in [
      ("2,y\n2,y\n2,y\n2,y\n2,y\n", 3, "5 records have its values, and only 2 objects have"),
      ("3,z\n3,z\n", 1, "2 records have its values, and only 1 object has"),
      ("4,v\n4,v\n", 2, "no object has its values, which 2 records have"),
      ("4,v\n", 1, "no object has its values"),
    ] {
      try bench.write("in.csv", "a,b\n" + text)
      let report = try verify(bench, isGood: false)
      #expect(report["missing"].int == missing && report["problems"].count == 1)
      #expect(report["problems"][0]["reason"].text == reason)
    }
    try bench.write("in.csv", "a,b\n2,y\n3,z\n2,y\n")
    #expect(try verify(bench)["found"].int == 3)
  }

  @Test("An input that is changed while it is verified gets no receipt")
  func changedMeanwhile() throws {
    let bench = try imported("a,b\n1,x\n")
    let input = bench.path("in.csv")
    let folder = bench.path("bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // The program that computes the digest comes after the reading.
    for change in [
      "cp '\(input)' '\(input).new'; mv '\(input).new' '\(input)'", "echo 2,y >> '\(input)'",
    ] {
      try bench.write("bin/sha256sum", "#!/bin/sh\n\(change)\nPATH=/usr/bin:/bin exec sha256sum\n")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: folder + "/sha256sum")
      let result = try SheafProcess.run(
        ["verify", bench.database, input, "--receipt", bench.path("receipt.json")],
        environment: ["PATH": folder + ":/usr/bin:/bin"])
      #expect(result.status == 65, "\(result.errorText)")
      #expect(result.errorText.contains("was changed or replaced while it was verified"))
      #expect(!bench.names().contains("receipt.json"))
      bench.expectNothingLeft()
    }
  }

  @Test("Equal records of several inputs are counted for the input that has them")
  func equalRecordsOfInputs() throws {
    let bench = try imported("a,b\n1,x\n2,y\n2,y\n3,z\n")
    try bench.write("in.csv", "a,b\n1,x\n2,y\n")
    try bench.write("2.csv", "a,b\n2,y\n3,z\n2,y\n")
    try bench.write("3.csv", "a,b\n3,z\n2,y\n2,y\n")
    let report = try verify(bench, bench.path("2.csv"), bench.path("3.csv"), isGood: false)
    let inputs = (0..<3).map { report["inputs"][$0] }
    #expect(inputs.map { $0["found"].int } == [2, 2, 0], "\(report)")
    #expect(inputs.map { $0["missing"].int } == [0, 1, 3], "\(report)")
    // The records of a kind are told of once, at the first that has no object.
    #expect(report["problems"].count == 2)
    let reason = "5 records have its values, and only 2 objects have"
    #expect(report["problems"][0]["reason"].text == reason)
    #expect(report["problems"][0]["file"].text?.hasSuffix("2.csv") == true)
    #expect(report["problems"][1]["file"].text?.hasSuffix("3.csv") == true)
  }

  @Test("Every record is found, or counted as missing or differing", arguments: [true, false])
  func everyRecord(hasKey: Bool) throws {
    let bench = try hasKey ? imported(rows, "--key", "id") : imported(rows)
    let good = try verify(bench)
    #expect(good["read"].int == 7 && good["found"].int == 5 && good["rejected"].int == 2)
    // A changed character, an additional record, a missing reject.
    for (old, new, missing, differing) in [
      ("1.50", "1.5", hasKey ? 0 : 1, hasKey ? 1 : 0), ("7,z,7\n", "7,z,7\n8,v,8\n", 1, 0),
      ("6,y\n", "6,Y\n", 1, 0), ("6,y\n", "6,y\n6,y\n", 1, 0),
      ("4,\"\",4", "4,,4", hasKey ? 0 : 1, hasKey ? 1 : 0),
    ] {
      try bench.write("in.csv", rows.replacingOccurrences(of: old, with: new))
      let bad = try verify(bench, isGood: false)
      #expect(bad["missing"].int == missing && bad["differing"].int == differing, "\(old)")
      #expect(bad["problems"].count == 1)
    }
    try bench.write("in.csv", rows)
    #expect(try verify(bench)["found"].int == 5)
    try bench.run(["delete", bench.database, "id == 7"])
    let gone = try verify(bench, isGood: false)
    #expect(gone["missing"].int == 1 && gone["problems"][0]["record"].int == 7)
    // The record's first line: it follows one record of two lines and two rejected ones.
    #expect(gone["problems"][0]["line"].int == 9)
    let text = try SheafProcess.run(["verify", bench.database, bench.path("in.csv")])
    #expect(
      text.outputText.contains("in.csv:9: record 7")
        || text.errorText.contains("in.csv:9: record 7"))
    #expect(hasKey == (gone["problems"][0]["key"].text == "7"))
    try bench.write("in.rejects.csv", "id,name,n\n5,x,5,more\n")
    #expect(try verify(bench, isGood: false)["missing"].int == 2)
    // Records with another column are not in the table to the letter.
    try bench.write("in.csv", "id,name,n,new\n1,\"a,b\",1.50,x\n")
    try bench.run(["verify", bench.database, bench.path("in.csv")], status: .dataRefused)
  }

  @Test("Records with repeated keys are counted by policy")
  func repeatedKeysAndPolicies() throws {
    let text = "id,v\n1,a\n2,b\n1,c\n3,d\n1,e\n"
    for (policy, rejected, repeated) in [("error", 2, 0), ("skip", 0, 2), ("update", 0, 2)] {
      let bench = try imported(text, "--key", "id", "--on-conflict", policy)
      let report = try verify(bench)
      #expect(report["rejected"].int == rejected && report["repeated"].int == repeated, "\(policy)")
    }
    // Without a key each record has an object of its own.
    let heap = try imported("a,b\n1,x\n1,x\n2,y\n")
    #expect(try verify(heap)["found"].int == 3)
    try heap.write("in.csv", "a,b\n1,x\n1,x\n1,x\n2,y\n")
    #expect(try verify(heap, isGood: false)["missing"].int == 1)
    // More objects have the values than records do.
    try heap.write("in.csv", "a,b\n1,x\n2,y\n")
    #expect(try verify(heap)["found"].int == 2)
  }

  /// Records are read as by the import: filters, rules, names, added columns, other inputs.
  @Test func theOptionsOfTheImport() throws {
    let text = "Id;Name;N\n1; a ;1\n2;b;-1\n3;NULL;3\n4;d;9\n"
    let bench = try Workbench()
    try bench.write("in.csv", text)
    let reading = [
      "--rename", "Id:id,Name:name", "--trim", "--null", "NULL", "--where", "N < 9", "--check",
      "N > 0",
      "--filename=source", "--rejects", bench.path("r.csv"),
    ]
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--key", "id",
        "--quiet",
        "--max-rejects", "9",
      ] + reading)
    let words = ["verify", bench.database, bench.path("in.csv")] + reading
    let report = try bench.report(words)
    #expect(report["found"].int == 2 && report["rejected"].int == 1 && report["filtered"].int == 1)
    // Without these options it is another import.
    let other = try SheafProcess.run(["verify", bench.database, bench.path("in.csv")])
    #expect(other.status == 65)
    try bench.run(words + ["--set", "at={now}"], status: .usage)
    try bench.run(["verify", bench.database, "-"], status: .usage)
    try bench.run(["verify", bench.database], status: .usage)
    try bench.run(["verify", bench.database, bench.path("none.csv")], status: .inputMissing)
    try bench.run(
      ["verify", bench.path("none.sheaf"), bench.path("in.csv")], status: .inputMissing)
  }

  /// A column that no input has, such as the moment of the import, is left out by naming the others.
  @Test("Columns can be left out", arguments: [[], ["--key", "id"]])
  func chosenColumns(key: [String]) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n2,b\n\(key.isEmpty ? 2 : 3),b\n")
    try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--quiet"]
        + ["--set", "at={now}", "--record-number"] + key)
    let numbered = ["--record-number", "--columns", "id,v"]
    #expect(
      try bench.report(["verify", bench.database, bench.path("in.csv")] + numbered)["found"].int
        == 3)
    try bench.write("in.csv", "id,v\n1,a\n2,b\n4,b\n")
    let result = try SheafProcess.run(
      ["verify", bench.database, bench.path("in.csv"), "--report", "json"] + ["--columns", "id,v"])
    #expect(result.status == 65)
    #expect(try Report(result.output)["missing"].int == 1)
    // Without the list, what the inputs do not have is null in an object without a key.
    let whole = try SheafProcess.run(
      ["verify", bench.database, bench.path("in.csv"), "--report", "json"])
    #expect(try Report(whole.output)["missing"].int == (key.isEmpty ? 3 : 1))
  }

  @Test("The receipt has the counts and the hash of each input")
  func theReceipt() throws {
    let bench = try imported(rows, "--key", "id", "--keep-versions", "2")
    let path = bench.path("out.json")
    _ = try verify(bench, "--receipt", path)
    let receipt = try Report(bench.read("out.json"))
    #expect(receipt["found"].int == 5 && receipt["inputs"][0]["size"].int == rows.utf8.count)
    let said = try SheafProcess.run([bench.path("in.csv")], program: "/usr/bin/sha256sum")
    #expect(receipt["inputs"][0]["sha256"].text == String(said.outputText.prefix(64)))
    #expect(receipt["rejects"][0]["sha256"].text?.utf8.count == 64)
    // Against a kept version. A failed run replaces the earlier receipt; other files stay.
    try bench.run(["tag", bench.database, "then"])
    try bench.run(["delete", bench.database, "id == 1"])
    _ = try verify(bench, "--receipt", path, isGood: false)
    #expect(try Report(bench.read("out.json"))["ok"].bool == false)
    _ = try verify(bench, "--receipt", path, "--at", "then")
    #expect(try Report(bench.read("out.json"))["ok"].bool == true)
    for other in ["in.csv", "t.sheaf", "no/out.json"] {
      let before = try? bench.read(other)
      let result = try SheafProcess.run(
        ["verify", bench.database, bench.path("in.csv"), "--receipt", bench.path(other)])
      #expect([64, 73].contains(result.status), "\(other)")
      #expect((try? bench.read(other)) == before)
    }
    try bench.write("other.txt", "something\n")
    try bench.run(
      ["verify", bench.database, bench.path("in.csv"), "--receipt", bench.path("other.txt")],
      status: .usage)
  }

  @Test("Rejects in UTF-16 without a header are found behind the mark", arguments: [true, false])
  func rejectsBehindAMark(isLittle: Bool) throws {
    let bench = try Workbench()
    let text = Array("\u{FEFF}1,2\n3\n4,5\n6\n".utf16)
    let bytes = text.flatMap { unit in
      let pair = [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
      return isLittle ? pair : pair.reversed()
    }
    try Data(bytes).write(to: URL(fileURLWithPath: bench.path("in.csv")))
    let options = ["--header", "no", "--delimiter", ","]
    try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "9"] + options)
    let result = try bench.run(["verify", bench.database, bench.path("in.csv")] + options)
    #expect(result.status == 0, "\(result.outputText)")
  }
}
