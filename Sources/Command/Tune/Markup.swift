/// Text inside HTML and SVG.
enum Markup {
  static func escaped(_ text: String) -> String {
    var result = ""
    // By scalar: a combining mark must not hide the sign before it.
    for scalar in StandardError.escaped(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      // These are not allowed in XML, and some tools read the page as XML.
      case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  static func element(_ name: String, _ attributes: String = "", _ content: String) -> String {
    let space = attributes.isEmpty ? "" : " "
    return "<\(name)\(space)\(attributes)>\(content)</\(name)>"
  }
}
