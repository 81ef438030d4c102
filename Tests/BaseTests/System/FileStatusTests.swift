import Base
import Foundation
import TestSupport
import Testing

/// What a commit asks of its file, in cheaper ways than by its whole status.
@Suite struct FileStatusTests {
  @Test("The identity of a path is that of its status, on any file system and through links")
  func identity() throws {
    let folder = TemporaryFolder()
    let file = folder.path("f")
    System.close(try System.open(file, .createNew))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("l"), withDestinationPath: file)
    for path in [
      file, folder.path("l"), folder.path("."), "/", "/dev/null", "/proc", "/sys", "/dev/shm",
    ] {
      guard let status = try System.statusIfPresent(path: path) else { continue }
      let identity = try System.identity(path: path)
      #expect(identity == (status.device, status.inode), "\(path)")
    }
    let (one, other) = (
      try System.identity(path: file), try System.identity(path: folder.path("."))
    )
    #expect(one != other)
  }

  @Test("A path without a file, and one that leads through a file, are told as by the status")
  func missing() throws {
    let folder = TemporaryFolder()
    let file = folder.path("f")
    System.close(try System.open(file, .createNew))
    for path in [folder.path("none"), file + "/below", ""] {
      let expected = #expect(throws: SystemError.self) { try System.status(path: path) }
      let error = #expect(throws: SystemError.self) { try System.identity(path: path) }
      #expect(error.map { "\($0)" } == expected.map { "\($0)" }, "\(path)")
      #expect(error?.isMissing == expected?.isMissing)
    }
  }

  @Test("The length of a file is that of its status, after each change by others")
  func length() throws {
    let folder = TemporaryFolder()
    let path = folder.path("f")
    let (one, other) = (try System.open(path, .createNew), try System.open(path, .readWrite))
    defer {
      System.close(one)
      System.close(other)
    }
    for length in [0, 1, 4096, 1 << 33, 5] {
      try System.resize(other, to: length, path: path)
      #expect(try System.length(one, path: path) == length)
      #expect(try System.status(one, path: path).size == length)
    }
    let pipe = try System.pipe()
    defer {
      System.close(pipe.reading)
      System.close(pipe.writing)
    }
    #expect(throws: SystemError.self) { try System.length(pipe.reading, path: "a pipe") }
  }
}
