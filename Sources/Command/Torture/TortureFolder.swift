import Base
import Engine

/// The only folder that `sheaf torture` writes to, inside the given folder. It owns everything in it.
struct TortureFolder {
  let path: String

  /// Creates the folder.
  ///
  /// - Throws: a `CommandError`: 66 when the given folder does not exist, 73 when none can be created in it.
  init(in given: String) throws(CommandError) {
    var given = given
    while given.utf8.count > 1, given.hasSuffix("/") { given.removeLast() }
    var path = "\(given)/sheaf-torture-\(System.processIdentifier)"
    let isFolder: Bool
    do throws(SystemError) {
      isFolder = try System.status(path: given).isDirectory
    } catch {
      throw .input(error)
    }
    guard isFolder else {
      throw CommandError(.inputMissing, "\(given) is no folder; name one on the disk to be tried")
    }
    do throws(SystemError) {
      while try !System.makeFolder(path) { path += "x" }
    } catch {
      throw .creation(error)
    }
    self.path = path
  }

  var database: String { file("t.sheaf") }
  /// The input that is imported first.
  var input: String { file("input.csv") }
  /// The input that takes its place with `--truncate`.
  var second: String { file("second.csv") }
  /// The export after an import.
  var exported: String { file("exported.csv") }
  /// The export during an import.
  var beside: String { file("beside.csv") }

  private func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Free space of the disk in bytes.
  func freeSpace() throws(SystemError) -> Int { try System.freeSpace(at: path) }

  /// Removes everything but the inputs.
  func empty() throws(SystemError) {
    for name in try System.names(in: path) where name != "input.csv" && name != "second.csv" {
      try System.remove(file(name))
    }
  }

  /// Removes everything.
  func remove() throws(SystemError) {
    for name in try System.names(in: path) { try System.remove(file(name)) }
    try System.removeFolder(path)
  }
}
