import Base
import Engine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the stories share: a database file to work on, and an end that reports errors.
package enum Story {
  /// Tells a story: calls `body` with the path of its database.
  ///
  /// The path is the program's first argument, which should name a file that is not there yet; without
  /// one the file lies in a temporary folder, which is removed at the end. An error is printed and ends
  /// the program with status 1.
  package static func run(_ body: (String) throws -> Void) {
    do {
      if let path = argument(1) {
        try body(path)
      } else {
        let folder = try temporaryFolder()
        let path = folder + "/story.sheaf"
        defer {
          for file in [path, path + "-lock"] { try? System.remove(file) }
          rmdir(folder)
        }
        try body(path)
      }
    } catch {
      let message = Array("\(error)\n".utf8)
      try? message.withUnsafeBytes { try System.write(2, $0, path: "standard error") }
      System.exit(1)
    }
  }

  /// An argument of the program, from 1; nil when it was not given.
  package static func argument(_ position: Int) -> String? {
    let arguments = CommandLine.arguments
    return position < arguments.count ? arguments[position] : nil
  }

  /// A value as it would stand in a CSV file.
  package static func text(_ value: Value) -> String {
    String(decoding: value.spelling, as: UTF8.self)
  }

  private static func temporaryFolder() throws -> String {
    let parent = System.environment("TMPDIR") ?? "/tmp"
    var template = Array((parent + "/sheaf-story-XXXXXX").utf8CString)
    let isMade = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.map { mkdtemp($0) != nil } ?? false
    }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard isMade else {
      throw SystemError(operation: "make a folder", path: folder, code: errno)
    }
    return folder
  }
}
