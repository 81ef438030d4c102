/// The characters that occur in a spelling, apart from digits.
struct SpellingSigns: OptionSet, Hashable {
  let rawValue: UInt8

  static let blank = SpellingSigns(rawValue: 1)
  static let colon = SpellingSigns(rawValue: 2)
  static let point = SpellingSigns(rawValue: 4)
  static let hyphen = SpellingSigns(rawValue: 8)
  static let slash = SpellingSigns(rawValue: 16)
  static let comma = SpellingSigns(rawValue: 32)
  static let letter = SpellingSigns(rawValue: 64)
  static let other = SpellingSigns(rawValue: 128)

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ spelling: some Sequence<UInt8>) {
    self = []
    for byte in spelling { formUnion(Self.sign(byte)) }
  }

  fileprivate static func sign(_ byte: UInt8) -> SpellingSigns {
    switch byte {
    case 0x30...0x39: []
    case 0x20, 0x09: .blank
    case 0x3A: .colon
    case 0x2E: .point
    case 0x2D: .hyphen
    case 0x2F: .slash
    case 0x2C: .comma
    case 0x41...0x5A, 0x61...0x7A, 0x80...: .letter
    default: .other
    }
  }
}

/// The characters that every spelling of a date format has, and those that may also occur. They exclude most
/// formats without trying them.
struct FormatSigns {
  private var required: SpellingSigns = []
  private var possible: SpellingSigns = []

  /// - Parameter format: as of `DatePattern`.
  init(_ format: String) {
    var bytes = Array(format.utf8)[...]
    while let byte = bytes.popFirst() {
      guard byte == UInt8(ascii: "%"), let field = bytes.popFirst() else {
        required.formUnion(SpellingSigns.sign(byte))
        continue
      }
      switch field {
      case UInt8(ascii: "B"), UInt8(ascii: "b"), UInt8(ascii: "A"), UInt8(ascii: "a"),
        UInt8(ascii: "p"):
        required.formUnion(.letter)
      // `+02:00`, `-0200` or a name.
      case UInt8(ascii: "z"): possible.formUnion([.colon, .hyphen, .letter, .other])
      default: break
      }
    }
    possible.formUnion(required)
  }

  /// Returns whether a spelling with some characters may be read; false is certain.
  func mayRead(_ signs: SpellingSigns) -> Bool {
    signs.isSuperset(of: required) && signs.isSubset(of: possible)
  }
}
