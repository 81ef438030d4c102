import Base
import Engine
internal import ProgramArguments

/// The words that the program was started with.
enum GivenWords {
  /// The words after the program's name; see `PathText`.
  static let all: [String] = {
    let count = sheaf_argument_count()
    guard count > 0 else { return Array(System.arguments.dropFirst()) }
    return (1..<count).map { sheaf_argument($0).map { PathText.text($0) } ?? "" }
  }()
}
