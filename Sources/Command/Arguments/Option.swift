/// One option of a command, with everything that the parser and the help need, so that the two cannot
/// disagree.
protocol OptionEntry: Sendable {
  /// The name, without the dashes.
  var name: String { get }
  /// The placeholder for the value in the help; nil for a flag, which has no value.
  var placeholder: String? { get }
  /// The value when the option stands alone; any other value must then follow a `=`. Nil when a value is
  /// required.
  var impliedValue: String? { get }
  /// The allowed values, in words that fit after "expected".
  var allowed: String { get }
  /// The words that a shell can offer for the value.
  var completion: Completion { get }
  var isRepeatable: Bool { get }
  var isRequired: Bool { get }
  /// The default as the help shows it.
  var defaultText: String? { get }
  var help: String { get }
  /// The heading of the help under which the option stands.
  var group: String { get }
  /// True when the text is a value of this option.
  func accepts(_ text: String) -> Bool
  /// A message about a refused text, when the list of allowed values does not suffice.
  func refusal(_ text: String) -> String?
}

extension OptionEntry {
  /// The part after the name in the help: nothing, ` VALUE` or `[=VALUE]`.
  var valueText: String {
    guard let placeholder else { return "" }
    return impliedValue == nil ? " " + placeholder : "[=\(placeholder)]"
  }

  /// True when the word after the option is its value.
  var takesNextWord: Bool { placeholder != nil && impliedValue == nil }
}

/// The group of all options that name no other.
let generalOptions = "Options"

/// An option with a value of a known type.
struct Option<Value: Sendable>: OptionEntry {
  let name: String
  let kind: ValueKind<Value>
  let isRepeatable: Bool
  let isRequired: Bool
  /// The value, as it would be written, when the option is not given.
  let defaultValue: String?
  let defaultText: String?
  let impliedValue: String?
  let help: String
  let group: String

  /// - Parameters:
  ///   - default: the value when the option is not given, written as a person would.
  ///   - implied: the value when the option is given without one.
  ///   - defaultNote: shown as the default when it is a rule, not a value.
  init(
    _ name: String, _ kind: ValueKind<Value>, default: String? = nil, defaultNote: String? = nil,
    implied: String? = nil, required: Bool = false, repeatable: Bool = false,
    group: String = generalOptions, help: String
  ) {
    self.name = name
    self.kind = kind
    self.isRepeatable = repeatable
    self.isRequired = required
    self.defaultValue = `default`
    self.defaultText = defaultNote ?? `default`
    impliedValue = implied
    self.help = help
    self.group = group
  }

  var placeholder: String? { kind.placeholder }
  var allowed: String { kind.allowed }
  var completion: Completion { kind.completion }
  func accepts(_ text: String) -> Bool { kind.parse(text) != nil }
  func refusal(_ text: String) -> String? { kind.refusal?(text) }
}

/// An option without a value.
struct Flag: OptionEntry {
  let name: String
  let help: String
  let group: String

  init(_ name: String, group: String = generalOptions, help: String) {
    self.name = name
    self.help = help
    self.group = group
  }

  var placeholder: String? { nil }
  var impliedValue: String? { nil }
  var allowed: String { "no value" }
  var completion: Completion { .none }
  var isRepeatable: Bool { false }
  var isRequired: Bool { false }
  var defaultText: String? { nil }
  func accepts(_ text: String) -> Bool { false }
  func refusal(_ text: String) -> String? { nil }
}
