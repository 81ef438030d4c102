/// The arguments of a command, checked against its definition.
struct ParsedArguments: Sendable {
  /// The arguments without a name, in order.
  let positionals: [String]
  /// The texts given for each option, by its name; a flag has an empty one.
  private let given: [String: [String]]

  init(positionals: [String], given: [String: [String]]) {
    self.positionals = positionals
    self.given = given
  }

  /// True when the option stands on the command line, whatever its default.
  func isGiven(_ option: some OptionEntry) -> Bool { given[option.name] != nil }

  /// The option's values as they were written, to be passed on.
  func texts(_ option: any OptionEntry) -> [String] { given[option.name] ?? [] }

  func isSet(_ flag: Flag) -> Bool { given[flag.name] != nil }

  /// The option's value, or its default, or nil when it has neither.
  ///
  /// - Throws: a usage error when the text is no value of the option.
  func value<Value>(_ option: Option<Value>) throws(CommandError) -> Value? {
    guard let text = given[option.name]?.last ?? option.defaultValue else { return nil }
    return try parse(text, option)
  }

  /// Like `value`, for options that are required or have a default.
  ///
  /// - Throws: a usage error also when the option is missing.
  func required<Value>(_ option: Option<Value>) throws(CommandError) -> Value {
    guard let value = try value(option) else { throw .missing(option) }
    return value
  }

  /// All values of a repeatable option, in the order given.
  func values<Value>(_ option: Option<Value>) throws(CommandError) -> [Value] {
    var values: [Value] = []
    for text in given[option.name] ?? [] {
      values.append(try parse(text, option))
    }
    return values
  }

  private func parse<Value>(_ text: String, _ option: Option<Value>) throws(CommandError) -> Value {
    guard let value = option.kind.parse(text) else { throw .wrongValue(text, of: option) }
    return value
  }
}

extension CommandError {
  static func missing(_ option: some OptionEntry) -> CommandError {
    .usage("--\(option.name) \(option.placeholder ?? "") is required")
  }

  static func wrongValue(_ text: String, of option: some OptionEntry) -> CommandError {
    if let refusal = option.refusal(text) {
      return .usage("--\(option.name): \(refusal)")
    }
    // The text has the right form when a smaller number is accepted in its place.
    let digits = text.prefix { $0 >= "0" && $0 <= "9" }
    let isTooLarge = digits.count > 6 && option.accepts("1" + text.dropFirst(digits.count))
    return .usage(
      "--\(option.name): \"\(text)\" is \(isTooLarge ? "too large" : "not allowed"); "
        + "expected \(option.allowed)"
        + Suggestion.phrase(for: text, among: option.completion.words))
  }
}
