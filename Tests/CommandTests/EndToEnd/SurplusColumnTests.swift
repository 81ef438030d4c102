import Base
import Engine
import Foundation
import Testing

@testable import Command
@testable import Importer

/// The same surplus field goes into the same column, night after night, and never into a user's own.
@Suite struct SurplusColumnTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  private func load(_ input: String, _ more: String...) throws {
    try bench.write("in.csv", input)
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--header", "yes",
        "--key", "id", "--on-conflict", "update", "--quiet",
      ] + more)
  }

  private func extend(_ input: String) throws {
    try load(input, "--ragged", "extend")
    try bench.run(["verify", bench.database, bench.path("in.csv"), "--ragged", "extend"])
  }

  /// Makes the table one that an earlier version has left.
  private func forget() throws {
    let database = try Database.open(bench.database)
    try database.write { try $0.table("t").editor.setNote(SurplusColumns.note, nil) }
    try database.close()
  }

  @Test(
    "A column that has such a name, but was not made for surplus fields, keeps its values",
    arguments: [false, true])
  func ownColumn(isFirst: Bool) throws {
    let own = isFirst ? "extra1" : "extra2"
    try load("id,\(own)\n1,own\n2,mine\n")
    let columns = isFirst ? "extra1_2,extra2" : "extra1,extra2_2"
    for night in 1...3 {
      try extend("id\n1,S\(night),T\n")
      #expect(try bench.export() == "id,\(own),\(columns)\n1,own,S\(night),T\n2,mine,,\n")
    }
    try bench.run(["check", "--deep", bench.database])
  }

  @Test("An input with a column of such a name adds the same columns every night")
  func everyNight() throws {
    for night in 1...3 {
      try extend("id,extra1\n1,a,\(night),T\n")
      #expect(try bench.export() == "id,extra1,extra1_2,extra2\n1,a,\(night),T\n")
    }
  }

  /// The column that is missing comes back alone, also where no record has a field for it.
  @Test func renamedAndDropped() throws {
    try extend("id\n1,a,b,c\n")
    try bench.run(["alter", bench.database, "--rename", "extra2:kept"])
    try extend("id\n1,d\n")
    #expect(try bench.export() == "id,extra1,kept,extra3\n1,d,b,c\n")
    try extend("id\n1,e,f,g\n")
    #expect(try bench.export() == "id,extra1,kept,extra3,extra2\n1,e,b,g,f\n")
    try bench.run(["alter", bench.database, "--drop", "extra1"])
    try extend("id\n1,h,i,j\n")
    #expect(try bench.export() == "id,kept,extra3,extra2,extra1\n1,b,j,i,h\n")
    // A user's column that takes such a name stays one.
    try load("id,v\n1,own\n")
    try bench.run(["alter", bench.database, "--drop", "extra1"])
    try bench.run(["alter", bench.database, "--rename", "v:extra1"])
    try extend("id\n1,k,l,m\n")
    #expect(
      try bench.export() == "id,kept,extra3,extra2,extra1,extra1_2\n1,b,m,l,own,k\n")
    try bench.run(["check", "--deep", bench.database])
  }

  @Test("A renamed column of a table without surplus fields stays the user's")
  func renamedFirst() throws {
    try load("id,v\n1,own\n")
    try bench.run(["alter", bench.database, "--rename", "v:extra1"])
    try extend("id\n1,S\n")
    #expect(try bench.export() == "id,extra1,extra1_2\n1,own,S\n")
  }

  @Test("Columns that earlier versions have made for surplus fields are used")
  func earlierVersions() throws {
    try extend("id\n1,a,b\n")
    try forget()
    try extend("id\n1,c,d,e\n")
    #expect(try bench.export() == "id,extra1,extra2,extra3\n1,c,d,e\n")
  }

  @Test("A column that was there before those of earlier versions stays the user's")
  func ownColumnOfEarlierVersions() throws {
    try load("id,extra2\n1,own\n")
    try extend("id\n1,a,b\n")
    try forget()
    try extend("id\n1,c,d\n")
    #expect(try bench.export() == "id,extra2,extra1,extra2_2\n1,own,c,d\n")
    // With a new column of such a name, those that are there are known first.
    try forget()
    try load("id,extra3\n1,mine\n")
    try extend("id\n1,e,f,g\n")
    #expect(
      try bench.export() == "id,extra2,extra1,extra2_2,extra3,extra3_2\n1,own,e,f,mine,g\n")
  }

  @Test("A version that comes back has its columns for surplus fields")
  func undone() throws {
    try load("id,extra1\n1,own\n")
    try bench.run(["keep", bench.database, "--versions", "5"])
    try extend("id\n1,a\n")
    try bench.run(["undo", bench.database])
    try extend("id\n1,b\n")
    #expect(try bench.export() == "id,extra1,extra1_2\n1,own,b\n")
    try bench.run(["check", "--deep", bench.database])
  }
}
