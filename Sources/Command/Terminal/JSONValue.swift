import Base
import Engine

/// A JSON value, for reports: `["command": "compact", "before": .int(bytes)]`.
///
/// The keys of an object keep their order.
enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  struct Member: Sendable, Equatable {
    let key: String
    let value: JSONValue
  }

  /// The value, or null.
  static func optional<Wrapped>(_ value: Wrapped?, _ make: (Wrapped) -> JSONValue) -> JSONValue {
    value.map(make) ?? .null
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .int(let number): writer.integer(number)
    case .double(let number): writer.double(number)
    case .string(let text): writer.string(PathText.shown(text))
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer) }
      writer.end()
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(member.key)
        member.value.write(to: &writer)
      }
      writer.end()
    }
  }

  /// The value on one line, with its newline.
  var line: [UInt8] {
    var writer = JSONWriter()
    writer.escapes = StandardError.commandsTerminal
    write(to: &writer)
    writer.newline()
    return writer.bytes
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .int(value) }
  init(floatLiteral value: Double) { self = .double(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(nilLiteral: ()) { self = .null }
  init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(key: $0.0, value: $0.1) })
  }
}
