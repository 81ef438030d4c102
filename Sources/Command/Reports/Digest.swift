import Base

/// SHA-256 of files, computed by a program of the system.
enum Digest {
  private static let programs: [(String, [String])] = [
    ("sha256sum", []), ("shasum", ["-a", "256"]),
  ]
  private static let hexadecimalDigits = 64

  /// The digest, in hexadecimal.
  ///
  /// - Throws: `CommandError` when the file cannot be read, or there is no such program.
  static func sha256(of path: String) throws(CommandError) -> String {
    for (program, words) in programs {
      if let digest = try sha256(of: path, program, words) { return digest }
    }
    throw CommandError(
      .inputMissing,
      "\(path): its SHA-256 takes the program sha256sum or shasum, and neither is installed; leave "
        + "--receipt out"
    )
  }

  /// Nil when there is no such program.
  private static func sha256(
    of path: String, _ program: String, _ words: [String]
  ) throws(CommandError) -> String? {
    do throws(SystemError) {
      let input = try System.openRegular(path, writable: false)
      defer { System.close(input) }
      let child: ChildProcess
      do throws(SystemError) {
        child = try System.start(program, words, input: input)
      } catch {
        if error.isMissing { return nil }
        throw error
      }
      defer { System.close(child.output) }
      let said: String
      do throws(SystemError) {
        said = try System.text(child.output, path: path)
      } catch {
        System.end(child)
        _ = try? System.waitForEnd(of: child)
        throw error
      }
      let ending = try System.waitForEnd(of: child)
      let text = String(said.prefix(hexadecimalDigits))
      guard ending.status == 0, text.utf8.count == hexadecimalDigits, text.allSatisfy(\.isHexDigit)
      else {
        throw SystemError(operation: "read by \(program)", path: path, code: 5)
      }
      return text.lowercased()
    } catch {
      throw CommandError.input(error)
    }
  }
}
