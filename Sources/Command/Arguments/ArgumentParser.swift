import Base
import Engine

/// Checks the words after a command's name against its definition.
///
/// `--name value` and `--name=value` are the same; `--` ends the options; `-` is an argument like
/// any other; `-h` or `--help` before `--` asks for help, whatever else is wrong.
struct ArgumentParser {
  enum Outcome {
    case help
    case arguments(ParsedArguments)
  }

  let definition: CommandDefinition

  func parse(_ words: [String]) throws(CommandError) -> Outcome {
    let options = words.prefix { $0 != "--" }
    if options.contains("--help") || options.contains("-h") { return .help }

    var positionals: [String] = []
    var given: [String: [String]] = [:]
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        positionals += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        positionals.append(word)
        continue
      }
      let (option, attached) = try split(word)
      let value = try value(of: option, attached: attached, from: &rest)
      if given[option.name] != nil, !option.isRepeatable {
        throw .usage("--\(option.name) is given twice; give it once")
      }
      given[option.name, default: []].append(value)
    }
    try checkComplete(positionals, given)
    return .arguments(ParsedArguments(positionals: positionals, given: given))
  }

  /// The option a word names, and the value after its `=`.
  private func split(_ word: String) throws(CommandError) -> (any OptionEntry, String?) {
    let body = word.drop { $0 == "-" }
    let name = String(body.prefix { $0 != "=" })
    let attached = name.count < body.count ? String(body.dropFirst(name.count + 1)) : nil
    if word.hasPrefix("--"), !word.hasPrefix("---"), let option = definition.option(named: name) {
      return (option, attached)
    }
    let names = definition.options.map(\.name) + ["help"]
    let shown = word.prefix { $0 != "=" }
    let phrase = Suggestion.phrase(for: name, among: names, prefix: "--")
    let advice = phrase.isEmpty ? " (see sheaf help \(definition.name))" : phrase
    throw .usage("unknown option \"\(shown)\"\(advice)")
  }

  private func value(
    of option: any OptionEntry, attached: String?, from rest: inout ArraySlice<String>
  ) throws(CommandError) -> String {
    guard let placeholder = option.placeholder else {
      guard attached == nil else {
        throw .usage("--\(option.name) takes no value; write it alone")
      }
      return ""
    }
    let text: String
    if let attached = attached ?? option.impliedValue {
      text = attached
    } else {
      // A word that looks like an option is far more often a forgotten value than a value.
      guard let next = rest.first, !next.hasPrefix("--") else {
        let hint = rest.first.map { "; if \"\($0)\" is meant, write --\(option.name)=\($0)" } ?? ""
        throw .usage("--\(option.name) needs a value: --\(option.name) \(placeholder)\(hint)")
      }
      text = next
      rest.removeFirst()
    }
    if option.completion != .files { try checkText(text, "--" + option.name) }
    guard option.accepts(text) else { throw .wrongValue(text, of: option) }
    return text
  }

  /// Refuses bytes that are not text, except in paths.
  private func checkText(_ text: String, _ name: String) throws(CommandError) {
    if PathText.hasBytes(text) { throw .usage("\(name): \"\(text)\" is not UTF-8") }
  }

  private func checkComplete(
    _ positionals: [String], _ given: [String: [String]]
  ) throws(CommandError) {
    let expected = definition.positionals
    for (index, text) in positionals.enumerated() {
      guard let own = index < expected.count ? expected[index] : expected.last else { break }
      if own.completion != .files { try checkText(text, own.name) }
    }
    if positionals.count < expected.count, expected[positionals.count].isRequired,
      expected[positionals.count].isReplacedBy.flatMap({ given[$0] }) == nil
    {
      let missing = expected[positionals.count]
      throw .usage(
        "\(missing.name) is missing; usage: sheaf \(definition.name) \(definition.usage)")
    }
    if positionals.count > expected.count, expected.last?.isRepeatable != true {
      throw .usage(
        "unexpected argument \"\(positionals[expected.count])\"; "
          + "usage: sheaf \(definition.name) \(definition.usage)")
    }
    for option in definition.options where option.isRequired && given[option.name] == nil {
      throw .usage(
        "--\(option.name) \(option.placeholder ?? "") is missing; "
          + "usage: sheaf \(definition.name) \(definition.usage)")
    }
  }
}
