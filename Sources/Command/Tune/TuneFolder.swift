import Base
import Engine

/// The folder for an experiment's results. The folder for the databases of a run lies inside it, so that both
/// are on one file system.
///
/// Files of others are never changed. Of their content, only the beginning is read, to see whether it is the
/// mark of `sheaf tune`.
struct TuneFolder {
  static let csvName = "results.csv"
  static let jsonName = "results.json"
  static let pageName = "report.html"

  /// The beginnings of an experiment's files: no other file is ever overwritten.
  private static let marks = [
    csvName: TuneRun.names.joined(separator: ","),
    jsonName: "{\n  \"command\": \"tune\",",
    pageName: TunePage.beginning,
  ]
  private static let workPrefix = ".tune-"
  private static let filePrefix = "tune."

  let path: String
  let work: String
  /// Folders that this experiment has created, the outermost first.
  private let created: [String]

  /// Creates both folders.
  ///
  /// - Parameter given: the path; nil for `bench-results/tune-DATE`, followed by a number if that exists.
  /// - Throws: a `CommandError` when the folder cannot be created, or contains other files with the names of
  ///   the results.
  init(_ given: String?) throws {
    do {
      if let given {
        var path = given
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        created = try Self.makeFolders(path)
        try Self.checkForeign(path)
      } else {
        (path, created) = try Self.makeDated()
      }
      Self.removeLeftovers(path)
      var work = "\(path)/\(Self.workPrefix)\(System.processIdentifier)"
      while try !System.makeFolder(work) { work += "x" }
      self.work = work
    } catch let error as SystemError {
      throw CommandError.creation(error)
    }
  }

  /// The database of the run that is under way.
  var database: String { "\(work)/\(Self.filePrefix)sheaf" }
  var rejects: String { "\(work)/\(Self.filePrefix)rejects.csv" }

  private static func makeDated() throws -> (String, [String]) {
    let now = System.now(local: true)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let name = "bench-results/tune-\(now.year)-\(two(now.month))-\(two(now.day))"
    let parents = try makeFolders("bench-results")
    for number in 1...1000 {
      let path = number == 1 ? name : "\(name)-\(number)"
      if try System.makeFolder(path) { return (path, parents + [path]) }
    }
    throw CommandError(.cannotCreate, "\(name) and 999 more exist; name a folder with --output")
  }

  /// Creates a folder and those above it that are missing.
  ///
  /// - Returns: those that were missing.
  private static func makeFolders(_ path: String) throws -> [String] {
    if let status = try? System.status(path: path) {
      if status.isDirectory { return [] }
      throw CommandError(.cannotCreate, "\(path) is no folder; name another one with --output")
    }
    guard path.utf8.count < 4096 else {
      throw CommandError(.cannotCreate, "the path of --output is longer than a path can be")
    }
    let parents =
      path.utf8.contains(UInt8(ascii: "/")) ? try makeFolders(System.directory(of: path)) : []
    do {
      return parents + (try System.makeFolder(path) ? [path] : [])
    } catch {
      for parent in parents.reversed() { try? System.removeFolder(parent) }
      throw error
    }
  }

  private static func checkForeign(_ path: String) throws {
    for (name, mark) in marks.sorted(by: { $0.key < $1.key }) {
      let file = "\(path)/\(name)"
      guard let status = try System.linkStatus(path: file) else { continue }
      if status.isRegular, try begins(file, with: Array(mark.utf8)) { continue }
      throw CommandError(
        .cannotCreate,
        "\(file) exists and is no result of sheaf tune; name another folder with --output")
    }
  }

  private static func begins(_ path: String, with mark: [UInt8]) throws -> Bool {
    let descriptor = try System.openRegular(path, writable: false)
    defer { System.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: mark.count)
    let count = try bytes.withUnsafeMutableBytes {
      try System.read(descriptor, at: 0, into: $0, path: path)
    }
    return count == mark.count && bytes == mark
  }

  /// Removes the files that a killed run has left here.
  private static func removeLeftovers(_ path: String) {
    for name in (try? System.names(in: path)) ?? [] where name.hasPrefix(workPrefix) {
      let number = name.dropFirst(workPrefix.count).prefix { $0.isASCII && $0.isNumber }
      guard let process = Int32(number), !System.processIsAlive(process) else { continue }
      removeWork("\(path)/\(name)")
    }
  }

  private static func removeWork(_ work: String) {
    empty(work)
    try? System.removeFolder(work)
  }

  private static func empty(_ work: String) {
    for name in (try? System.names(in: work)) ?? [] where name.hasPrefix(filePrefix) {
      try? System.remove("\(work)/\(name)")
    }
  }

  /// Removes the files of a run.
  func empty() { Self.empty(work) }

  /// Removes the folder of the databases; with `all` also the results' folder, if it did not exist before.
  func remove(all: Bool) {
    Self.removeWork(work)
    guard all else { return }
    for folder in created.reversed() { try? System.removeFolder(folder) }
  }

  /// Writes a file, which appears only when it is complete.
  func write(_ name: String, _ bytes: [UInt8]) throws {
    let file = try BufferedOutput.file("\(path)/\(name)")
    try file.write(bytes)
    try file.close()
  }
}
