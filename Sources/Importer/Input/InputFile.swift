import Base
import Engine

/// One of the inputs of an import, a file or a server's query, examined without opening it: there may be
/// thousands.
package struct InputFile: Sendable, Equatable {
  /// The path as given or found; `-` for standard input; for a query, the address without a password.
  package let path: String
  /// The query of a server; nil for a file.
  package let query: ServerQuery?
  /// Identifies the input: the checksum of `location`.
  package let key: UInt64
  /// The path with all links followed; for anything but a regular file, `path`.
  package let location: String
  /// The size of a regular file on the disk; nil for other inputs.
  package let size: Int?
  /// Whether a program of the system must decompress it.
  package let isCompressed: Bool
  /// The device and number of the file; nil for standard input and queries.
  package let identity: FileIdentity?
  /// Whether it can be read again from the start.
  package var canBeReadAgain: Bool { size != nil && path != "-" }
  /// Whether it is too small for several threads and for clusters of its own.
  package var isSmall: Bool { canBeReadAgain && !isCompressed && size ?? .max < 1 << 14 }
  /// Its name in errors and reports.
  package var name: String { path == "-" ? "standard input" : path }

  /// The inputs that paths and patterns denote; those of a pattern are ordered by their bytes.
  ///
  /// A path that names a file means that file, whatever characters it contains.
  ///
  /// - Throws: `ImportError.unreadableInput` for a missing file, a folder, or a pattern without files;
  ///   `.invalidOption` for a file that is named twice.
  package static func list(_ given: [String]) throws -> [InputFile] {
    var files: [InputFile] = []
    var known: [FileIdentity?: String] = [:]
    for path in given {
      if let query = try ServerQuery(path) {
        if files.contains(where: { $0.query == query }) {
          throw ImportError.invalidOption("\(query.shown) is given twice: name it once")
        }
        files.append(InputFile(query))
        continue
      }
      for path in try paths(path) {
        let file = try InputFile(path)
        if let other = known.updateValue(path, forKey: file.identity) {
          throw ImportError.invalidOption(
            other == path
              ? "\(file.name) is given twice: name it once"
              : "\(path) and \(other) are the same file: name it once")
        }
        files.append(file)
      }
    }
    return files
  }

  private static func paths(_ given: String) throws -> [String] {
    guard given != "-", FilePattern.isPattern(given) else { return [given] }
    let files: [String]
    do throws(SystemError) {
      if try System.statusIfPresent(path: given) != nil { return [given] }
      files = try FilePattern.files(given)
    } catch {
      throw ImportError.unreadableInput(path: given, reason: "\(error.path): \(error.reason)")
    }
    if files.isEmpty {
      throw ImportError.unreadableInput(path: given, reason: "no file has a name like that")
    }
    return files
  }

  /// A table of a Sheaf file; `TableInput` reads it.
  package init(table name: String, in file: FileIdentity?) {
    (path, location, query, identity) = (name, name, nil, file)
    key = Checksum.of(Array(name.utf8))
    (size, isCompressed) = (nil, false)
  }

  private init(_ query: ServerQuery) {
    (path, location, self.query) = (query.shown, query.shown, query)
    key = Checksum.of(Array(query.shown.utf8))
    (size, isCompressed, identity) = (nil, false, nil)
  }

  private init(_ path: String) throws {
    self.path = path
    query = nil
    if path == "-" {
      location = "-"
      key = Checksum.of(Array("-".utf8))
      let status = try? System.status(0, path: "standard input")
      size = status.flatMap { $0.isRegular ? $0.size : nil }
      isCompressed = false
      identity = nil
      return
    }
    do throws(SystemError) {
      let status = try System.status(path: path)
      identity = FileIdentity(device: status.device, inode: status.inode)
      if status.isDirectory { throw SystemError.isADirectory(path) }
      size = status.isRegular ? status.size : nil
      // A pipe's path with all links followed is different each time.
      location = status.isRegular ? try System.resolved(path) : path
      key = Checksum.of(Array(location.utf8))
      isCompressed = status.isRegular ? try Self.isCompressed(path) : false
    } catch  where error == .isADirectory(path) {
      throw ImportError.isDirectory(path: path)
    } catch {
      throw ImportError.unreadableInput(path: path, reason: error.reason)
    }
  }

  private static func isCompressed(_ path: String) throws(SystemError) -> Bool {
    let descriptor = try System.open(path, .readOnly)
    defer { System.close(descriptor) }
    let beginning = try System.beginning(descriptor, count: Compression.beginningBytes, path: path)
    return Compression.of(path: path, beginning: beginning) != nil
  }
}
