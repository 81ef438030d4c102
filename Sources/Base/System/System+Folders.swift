#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Folders, and small files as a whole.
extension System {
  /// Creates a folder whose parent exists.
  ///
  /// - Returns: false when something of that name exists.
  package static func makeFolder(_ path: String) throws(SystemError) -> Bool {
    if call(.folder, { mkdir(native(path), 0o777) }) == 0 { return true }
    if errno == EEXIST { return false }
    throw SystemError(operation: "create folder", path: path, code: errno)
  }

  /// Removes an empty folder; a missing one is not an error.
  package static func removeFolder(_ path: String) throws(SystemError) {
    if call(.folder, { rmdir(native(path)) }) != 0 && errno != ENOENT {
      throw SystemError(operation: "remove folder", path: path, code: errno)
    }
  }

  /// The names in a folder, sorted, without `.` and `..`.
  package static func names(in path: String) throws(SystemError) -> [String] {
    if let code = failure(of: .folder) {
      throw SystemError(operation: "read folder", path: path, code: code)
    }
    guard let folder = opendir(native(path)) else {
      throw SystemError(operation: "read folder", path: path, code: errno)
    }
    defer { closedir(folder) }
    var names: [String] = []
    while true {
      if let code = failure(of: .folder) {
        throw SystemError(operation: "read folder", path: path, code: code)
      }
      errno = 0
      guard let entry = readdir(folder) else {
        if errno != 0 { throw SystemError(operation: "read folder", path: path, code: errno) }
        return names.sorted()
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee))
        {
          PathText.text($0)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  /// The text of a small file, such as those in /proc; at most a megabyte.
  package static func textFile(_ path: String) throws(SystemError) -> String {
    let descriptor = try open(path, .readOnly)
    defer { close(descriptor) }
    return try text(descriptor, path: path)
  }

  /// The rest of an open file or pipe; at most a megabyte.
  package static func text(_ descriptor: Int32, path: String) throws(SystemError) -> String {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < 1 << 20 {
      let count = try read(descriptor, into: &piece, path: path)
      if count == 0 { break }
      bytes += piece[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The first bytes of an open file, as many as there are.
  package static func beginning(_ descriptor: Int32, count: Int, path: String) throws(SystemError)
    -> [UInt8]
  {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { raw -> Result<Int, SystemError> in
      do throws(SystemError) {
        return .success(try read(descriptor, at: 0, into: raw, path: path))
      } catch {
        return .failure(error)
      }
    }
    return Array(bytes.prefix(try result.get()))
  }

  private static func read(_ descriptor: Int32, into piece: inout [UInt8], path: String)
    throws(SystemError) -> Int
  {
    let result = piece.withUnsafeMutableBytes { raw -> Result<Int, SystemError> in
      do throws(SystemError) {
        return .success(try read(descriptor, into: raw, path: path))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
