import Base
import Engine

@testable import Command

/// Programs that some tests need where they are installed.
enum Tools {
  /// The program's path; nil when it is not installed.
  static func path(_ name: String) -> String? {
    let folders = (System.environment("PATH") ?? "").split(separator: ":") + ["/usr/bin", "/bin"]
    for folder in folders {
      let path = "\(folder)/\(name)"
      if let status = try? System.status(path: path), status.isRegular,
        status.permissions & 0o111 != 0
      {
        return path
      }
    }
    return nil
  }

  /// Runs a program that is installed; nil, and a line that says so, when it is not.
  static func run(
    _ name: String, _ arguments: [String], input: String = "",
    environment: [String: String] = [:]
  ) throws -> SheafProcess.Result? {
    guard let program = path(name) else {
      print("skipped: \(name) is not installed")
      return nil
    }
    return try SheafProcess.run(
      arguments, input: Array(input.utf8), program: program, environment: environment)
  }
}

extension Tools {
  /// The system calls of a run, one a line; nil where they cannot be traced.
  ///
  /// - Parameter calls: their names, with commas between.
  static func trace(_ calls: String, _ words: [String], in bench: Workbench) throws -> [Substring]?
  {
    let trace = bench.path("trace")
    let strace = ["-f", "-y", "-o", trace, "-e", "trace=\(calls)", "--"]
    guard let result = try run("strace", strace + [SheafProcess.program()] + words) else {
      return nil
    }
    guard result.status == 0 else {
      print("skipped: strace is not allowed here: \(result.errorText)")
      return nil
    }
    return try bench.text("trace").split(separator: "\n")
  }
}

/// Words of a command as a shell would see them: quotes of both kinds, no expansions.
enum ShellWords {
  static func split(_ text: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in text {
      if let open = quote {
        if character == open { quote = nil } else { word = (word ?? "") + String(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == " " {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let word { words.append(word) }
    return words
  }
}
