import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

#if os(Linux)
  /// A file system of a few kilobytes. It needs a process that may mount one.
  final class SmallDisk {
    private let folder: TemporaryFolder
    var path: String { folder.path("disk") }

    /// Nil, with the reason printed, where it cannot be mounted.
    init?(kilobytes: Int) throws {
      folder = TemporaryFolder()
      try FileManager.default.createDirectory(
        atPath: folder.path("disk"), withIntermediateDirectories: true)
      guard try mount(["-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", folder.path("disk")])
      else {
        print("skipped: a small disk needs the right to mount one")
        return nil
      }
    }

    deinit {
      _ = try? SheafProcess.run([path], program: "/bin/umount")
    }

    private func mount(_ words: [String]) throws -> Bool {
      guard (try? System.status(path: "/bin/mount")) != nil else { return false }
      return try SheafProcess.run(words, program: "/bin/mount").status == 0
    }

    func grow(kilobytes: Int) throws {
      #expect(try mount(["-o", "remount,size=\(kilobytes)k", path]))
    }

    /// Writes until nothing fits any more.
    func fill() throws {
      let descriptor = try System.open(path + "/filler", .createNew)
      defer { System.close(descriptor) }
      let bytes = [UInt8](repeating: 1, count: 4096)
      while true {
        let isFull = bytes.withUnsafeBytes {
          (try? System.write(descriptor, $0, path: path)) == nil
        }
        if isFull { return }
      }
    }
  }
#endif
