import Base
import Engine
import Foundation
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import Command

/// The output of a command has the permissions of its database: neither more users nor fewer may read
/// it.
@Suite struct AccessTests {
  private struct Access: Equatable {
    let owner, group, permissions: UInt32
    let list: [UInt8]?

    init(_ path: String) throws {
      let descriptor = try System.openRegular(path, writable: false)
      defer { System.close(descriptor) }
      let status = try System.status(descriptor, path: path)
      (owner, group, permissions) = (status.owner, status.group, status.permissions)
      #if os(Linux)
        list = try System.accessList(descriptor, path: path)
      #else
        list = nil
      #endif
    }
  }

  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n3\n")
    try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--max-rejects",
      "1",
      "--rejects", bench.path("first.csv"),
    ])
    return bench
  }

  private func expectKept(_ bench: Workbench) throws {
    let before = try Access(bench.database)
    try bench.run(["compact", bench.database])
    #expect(try Access(bench.database) == before)
    try bench.run(["compact", bench.database, "--into", bench.path("copy.sheaf"), "--force"])
    #expect(try Access(bench.path("copy.sheaf")) == before)
    try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--max-rejects",
      "1",
      "--compact", "always",
    ])
    #expect(try Access(bench.database) == before)
    for name in bench.names() where name.hasPrefix("in.rejects") {
      #expect(try Access(bench.path(name)) == before, "\(name)")
      try System.remove(bench.path(name))
    }
  }

  @Test("Compacted files, copies and rejects have the permissions of the database")
  func permissions() throws {
    let bench = try filled()
    for permissions: mode_t in [0o600, 0o660, 0o640, 0o664, 0o644] {
      #expect(chmod(bench.database, permissions) == 0)
      try expectKept(bench)
    }
  }

  @Test("Compacted files, copies and rejects have the owner and group of the database")
  func ownerAndGroup() throws {
    guard getuid() == 0 else {
      print("skipped: only root can give a file away")
      return
    }
    let bench = try filled()
    #expect(chown(bench.database, 65_534, 65_534) == 0 && chmod(bench.database, 0o660) == 0)
    try expectKept(bench)
  }

  /// The arguments of `setpriv` that run the program as somebody else; nil, with a printed line, where that
  /// cannot be.
  private func nobody() throws -> [String]? {
    guard getuid() == 0, TemporaryFolder.canBeEnteredByOthers,
      (try? System.status(path: "/usr/bin/setpriv")) != nil
    else {
      print("skipped: root, setpriv and a folder that others may enter are needed")
      return nil
    }
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups", try SheafProcess.program()]
    guard try SheafProcess.run(words + ["--version"], program: "/usr/bin/setpriv").status == 0
    else {
      print("skipped: the program cannot be run as somebody else")
      return nil
    }
    return words
  }

  @Test("Commands that may only read a database that they are to change end with 73")
  func mayOnlyRead() throws {
    guard let nobody = try nobody() else { return }
    let bench = try filled()
    #expect(chmod(bench.database, 0o644) == 0)
    for words in [
      ["compact", bench.database], ["compact", bench.database, "--online"],
      ["undo", bench.database],
      ["alter", bench.database, "--rename", "a:c"],
      ["import", bench.path("in.csv"), "--into", bench.database],
    ] {
      let result = try SheafProcess.run(nobody + words, program: "/usr/bin/setpriv")
      #expect(result.status == 73, "\(words): \(result.errorText)")
      #expect(result.errorText.contains("look after the folder and its permissions"))
    }
    #expect(chmod(bench.database, 0o600) == 0)
    let check = try SheafProcess.run(
      nobody + ["check", bench.database], program: "/usr/bin/setpriv")
    #expect(check.status == 66, "\(check.errorText)")
  }

  /// Without a lock file, it is not seen by a compaction, which replaces the file.
  @Test func watchedWithoutALockFile() throws {
    guard let nobody = try nobody() else { return }
    let bench = try filled()
    #expect(chmod(bench.database, 0o644) == 0)
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--quiet",
    ]
    let more = ["--max-rejects", "1"]
    func version() throws -> Int {
      try #require(bench.report(["info", bench.database])["version"].int)
    }
    func watch() throws -> SheafProcess {
      let first = try version()
      let process = try SheafProcess(
        nobody + ["watch", bench.database], program: "/usr/bin/setpriv")
      #expect(process.waitForOutput(containing: "\"version\":\(first),"))
      #expect(!bench.names().contains("t.sheaf-lock"))
      return process
    }
    let process = try watch()
    for _ in 0..<2 {
      let file = try System.status(path: bench.database).inode
      try bench.run(["compact", bench.database])
      #expect(try System.status(path: bench.database).inode != file)
      #expect(process.waitForOutput(containing: "\"version\":\(try version()),"))
      try bench.run(words + more)
      #expect(process.waitForOutput(containing: "\"version\":\(try version()),"))
    }
    // Two compactions between two looks: nothing tells whether there was a commit between them.
    let reached = try version()
    process.signal(SIGSTOP)
    for _ in 0..<2 { try bench.run(["compact", bench.database]) }
    process.signal(SIGCONT)
    let result = process.wait(within: 30)
    #expect(
      result.status == 64 && result.errorText.hasSuffix("--since \(reached)\n"),
      "\(result.errorText)")
    let changes = result.outputText.split(separator: "\n").filter { $0.contains("\"inserted\"") }
    #expect(changes.count == 2, "\(result.outputText)")
    let last = try watch()
    try System.remove(bench.database)
    let removed = last.wait(within: 30)
    #expect(
      removed.status == 74 && removed.errorText.contains("; what was printed ends with --since"))
  }

  /// A user may write the file but cannot give a copy of it to its owner.
  @Test func somebodyElse() throws {
    guard let nobody = try nobody() else { return }
    let bench = try filled()
    let folder = System.directory(of: bench.database)
    #expect(chmod(folder, 0o777) == 0 && chmod(bench.database, 0o666) == 0)
    let before = try Access(bench.database)
    let file = try System.status(path: bench.database)
    let result = try SheafProcess.run(
      nobody + ["compact", bench.database], program: "/usr/bin/setpriv")
    #expect(result.status == 73, "\(result.errorText)")
    #expect(result.errorText.contains("cannot be given the file's owner, group and permissions"))
    #expect(result.errorText.contains("compact it as its owner or as root"))
    let imported = try SheafProcess.run(
      nobody + [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--max-rejects",
        "1", "--compact", "always", "--report", "json",
      ], program: "/usr/bin/setpriv")
    #expect(imported.status == 0, "\(imported.errorText)")
    // It is compacted in its place, beside its readers.
    try expectCompactedInUse(imported)
    #expect(try Access(bench.database) == before)
    #expect(try System.status(path: bench.database).inode == file.inode)
    bench.expectNothingLeft()
    // The new file belongs to its user, and nobody may read it who could not read the database.
    #expect(chmod(bench.database, 0o646) == 0)
    let copied = try SheafProcess.run(
      nobody + ["compact", bench.database, "--into", bench.path("copy.sheaf")],
      program: "/usr/bin/setpriv")
    #expect(copied.status == 0, "\(copied.errorText)")
    let copy = try System.status(path: bench.path("copy.sheaf"))
    #expect(copy.owner == 65_534 && copy.permissions & 0o077 == 0o004)
  }

  private func expectCompactedInUse(
    _ result: SheafProcess.Result, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let compaction = try Report(result.output)["compaction"]
    #expect(compaction["decision"].text == "compacted", sourceLocation: sourceLocation)
    #expect(compaction["online"].bool == true, sourceLocation: sourceLocation)
  }

  /// A file with two names is not replaced: readers by the other name would stay with the old file.
  @Test func severalNames() throws {
    let bench = try filled()
    try FileManager.default.linkItem(atPath: bench.database, toPath: bench.path("other.sheaf"))
    let result = try bench.run(["compact", bench.database], status: .cannotCreate)
    #expect(result.errorText.contains("other names (hard links)"))
    let imported = try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--max-rejects",
      "1", "--compact", "always", "--report", "json",
    ])
    try expectCompactedInUse(imported)
    for name in ["t.sheaf", "other.sheaf"] {
      #expect(try bench.run(["query", bench.path(name), "--count"]).outputText == "2\n", "\(name)")
    }
    try System.remove(bench.path("other.sheaf"))
    try bench.run(["compact", bench.database])
  }

  /// A file that is mounted by itself, as containers do it, cannot be replaced.
  @Test func ownMount() throws {
    let bench = try filled()
    let place = bench.path("mounted.sheaf")
    try bench.write("mounted.sheaf", "")
    func mount(_ words: String...) -> Bool {
      (try? SheafProcess.run(words, program: "/usr/bin/env"))?.status == 0
    }
    guard getuid() == 0, mount("mount", "--bind", bench.database, place) else {
      print("skipped: root and bind mounts are needed")
      return
    }
    defer { _ = mount("umount", place) }
    let result = try bench.run(["compact", place], status: .cannotCreate)
    #expect(result.errorText.contains("mounted by itself"))
    let imported = try bench.run([
      "import", bench.path("in.csv"), "--into", place, "--table", "t", "--max-rejects", "1",
      "--compact", "always", "--report", "json",
    ])
    try expectCompactedInUse(imported)
    #expect(try bench.run(["query", bench.database, "--count"]).outputText == "2\n")
  }

  /// The import is committed when the compaction fails: to repeat it would add all records twice.
  @Test func afterTheCommit() throws {
    let bench = try filled()
    let temporary = bench.path("t.sheaf-temporary")
    try bench.write("t.sheaf-temporary", "my own")
    let result = try SheafProcess.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--max-rejects",
      "1", "--compact", "always", "--report-file", bench.path("runs.jsonl"),
    ])
    #expect(result.status == 73, "\(result.errorText)")
    #expect(result.errorText.contains("everything is committed: do not run the import again"))
    #expect(result.errorText.contains("t.sheaf-temporary"))
    #expect(try bench.text("runs.jsonl").contains("\"imported\":1"))
    #expect(try bench.text("t.sheaf-temporary") == "my own")
    try System.remove(temporary)
    #expect(try bench.run(["query", bench.database, "--count"]).outputText == "2\n")
  }

  #if os(Linux)
    /// user::rw-, user:65534:rw-, group::---, mask::rw-, other::---
    private static let list: [UInt8] = [
      2, 0, 0, 0,
      1, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,
      2, 0, 6, 0, 0xFE, 0xFF, 0, 0,
      4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
      0x10, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,
      0x20, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    @Test("Compacted files, copies and rejects have the access list of the database")
    func accessLists() throws {
      let bench = try filled()
      let descriptor = try System.open(bench.database, .readWrite)
      let isSet = System.setAccessList(Self.list, of: descriptor)
      System.close(descriptor)
      guard isSet else {
        print("skipped: the file system has no access lists")
        return
      }
      #expect(try Access(bench.database).list == Self.list)
      try expectKept(bench)
      #expect(try Access(bench.database).list == Self.list)
    }

    /// A user who is named in the list, and does not own the database: its group gets nothing by the copy.
    @Test func accessListsOfOthers() throws {
      guard let nobody = try nobody() else { return }
      let bench = try filled()
      #expect(chmod(System.directory(of: bench.database), 0o777) == 0)
      for (group, isTheirs) in [(gid_t(65_534), true), (0, false)] {
        let descriptor = try System.open(bench.database, .readWrite)
        defer { System.close(descriptor) }
        #expect(fchown(descriptor, uid_t.max, group) == 0)
        // Others may read it, but not the members of its group.
        let list = Self.list.dropLast(6) + [4, 0, 0xFF, 0xFF, 0xFF, 0xFF]
        guard System.setAccessList(Array(list), of: descriptor) else {
          print("skipped: the file system has no access lists")
          return
        }
        let name = "\(group).sheaf"
        let result = try SheafProcess.run(
          nobody + ["backup", bench.database, "--to", bench.path(name)],
          program: "/usr/bin/setpriv")
        #expect(result.status == 0, "\(result.errorText)")
        let copy = try Access(bench.path(name))
        #expect(copy.owner == 65_534 && copy.list == (isTheirs ? Array(list) : nil))
        #expect(copy.permissions & 0o077 == (isTheirs ? 0o064 : 0))
      }
    }
  #endif
}
