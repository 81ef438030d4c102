/// A command: everything that its help prints and its parser checks, and the function that it runs.
struct CommandDefinition: Sendable {
  /// An argument without a name, such as the files to import.
  struct Positional: Sendable {
    let name: String
    let help: String
    var isRequired = true
    /// The option that makes this argument optional.
    var isReplacedBy: String?
    /// True when the last argument may come more than once.
    var isRepeatable = false
    /// The words that a shell can offer for it.
    var completion = Completion.none

    /// The argument in the usage line.
    var shown: String {
      let repeated = isRepeatable ? name + "..." : name
      return isRequired ? repeated : "[\(repeated)]"
    }
  }

  struct Example: Sendable {
    let command: String
    let meaning: String
  }

  let name: String
  /// One line, without a full stop.
  let summary: String
  /// The part of the usage line after `sheaf NAME`.
  let usage: String
  var positionals: [Positional] = []
  var options: [any OptionEntry] = []
  var examples: [Example] = []
  let run: @Sendable (ParsedArguments, BufferedOutput) throws -> ExitStatus

  func option(named name: String) -> (any OptionEntry)? {
    options.first { $0.name == name }
  }
}
