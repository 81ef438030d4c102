import Base
import Engine

/// File names with `*`, `?`, `[a-z]`, and `**` for any number of folders, as in shells.
///
/// `*`, `?` and `[...]` stay within a folder; `[!...]` matches what is not listed; a backslash makes the next
/// character literal. Only a pattern with a leading point finds hidden names.
package enum FilePattern {
  /// How deep `**` descends at most.
  private static let maximumDepth = 64

  /// Whether a path contains special characters.
  package static func isPattern(_ path: String) -> Bool {
    path.utf8.contains { $0 == 0x2A || $0 == 0x3F || $0 == 0x5B }
  }

  /// The files that match a pattern, without folders and with links that lead nowhere, ordered by the bytes
  /// of their paths.
  ///
  /// - Throws: `SystemError` for a folder that may not be listed.
  package static func files(_ pattern: String) throws(SystemError) -> [String] {
    var parts = pattern.parts(at: "/").filter { !$0.isEmpty }
    // `**/**` finds what `**` does, at the price of looking into each folder once for each of its own.
    parts = parts.indices.filter { $0 == 0 || parts[$0] != "**" || parts[$0 - 1] != "**" }
      .map { parts[$0] }
    var found: [String] = []
    try collect(pattern.begins(withSign: "/") ? "/" : "", parts[...], depth: 0, into: &found)
    // Names are also compared by bytes: Swift's texts are equal when they only look the same.
    let paths = found.map { (text: $0, bytes: PathText.bytes($0)) }
      .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return paths.indices.filter { $0 == 0 || paths[$0 - 1].bytes != paths[$0].bytes }
      .map { paths[$0].text }
  }

  private static func collect(
    _ folder: String, _ parts: ArraySlice<String>, depth: Int, into found: inout [String]
  ) throws(SystemError) {
    guard let part = parts.first else { return }
    let rest = parts.dropFirst()
    if part == "**" {
      // First without a folder, then with one more.
      try collect(folder, rest, depth: depth, into: &found)
      guard depth < maximumDepth else { return }
      for name in try names(folder) where !name.begins(withSign: ".") {
        let path = folder + name
        if try System.linkStatus(path: path)?.isDirectory == true {
          try collect(path + "/", parts, depth: depth + 1, into: &found)
        }
      }
      return
    }
    let matches = isPattern(part) ? try names(folder).filter { self.matches($0, part) } : [part]
    for name in matches {
      let path = folder + name
      if !rest.isEmpty {
        if try System.statusIfPresent(path: path)?.isDirectory == true {
          try collect(path + "/", rest, depth: depth, into: &found)
        }
      } else if let status = try System.statusIfPresent(path: path) {
        if !status.isDirectory { found.append(path) }
      } else if try System.linkStatus(path: path) != nil {
        // A link to nothing: its input is missing, as it is where it is named.
        found.append(path)
      }
    }
  }

  private static func names(_ folder: String) throws(SystemError) -> [String] {
    do {
      return try System.names(in: folder.isEmpty ? "." : folder)
    } catch  where error.isMissing {
      return []
    }
  }

  // MARK: One name

  /// Whether a name matches a part of a pattern, between two slashes.
  static func matches(_ name: String, _ pattern: String) -> Bool {
    if name.begins(withSign: "."), !pattern.begins(withSign: ".") { return false }
    let name = Array(name.unicodeScalars)
    let pattern = Array(pattern.unicodeScalars)
    // The last star, and how much it has matched: the only place for backtracking.
    var star: (pattern: Int, name: Int)?
    var (p, n) = (0, 0)
    while n < name.count {
      if p < pattern.count, pattern[p] == "*" {
        star = (p, n)
        p += 1
      } else if let next = step(pattern, p, name[n]) {
        p = next
        n += 1
      } else if let last = star {
        star = (last.pattern, last.name + 1)
        p = last.pattern + 1
        n = last.name + 1
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == "*" }
  }

  /// Where the pattern continues after matching the character at `place`; nil when it does not match.
  private static func step(_ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar)
    -> Int?
  {
    guard place < pattern.count else { return nil }
    switch pattern[place] {
    case "?": return place + 1
    case "\\" where place + 1 < pattern.count:
      return pattern[place + 1] == scalar ? place + 2 : nil
    case "[":
      guard let (fits, end) = list(pattern, place + 1, scalar) else {
        // Never closed: an ordinary bracket.
        return scalar == "[" ? place + 1 : nil
      }
      return fits ? end : nil
    default: return pattern[place] == scalar ? place + 1 : nil
    }
  }

  /// Whether the list that begins at `place` contains this character, and where the list ends; nil when it is
  /// never closed.
  private static func list(_ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar)
    -> (fits: Bool, end: Int)?
  {
    var index = place
    let isInverted = index < pattern.count && (pattern[index] == "!" || pattern[index] == "^")
    if isInverted { index += 1 }
    var fits = false
    var isFirst = true
    while index < pattern.count {
      if pattern[index] == "]", !isFirst { return (fits != isInverted, index + 1) }
      isFirst = false
      let low = pattern[index]
      if index + 2 < pattern.count, pattern[index + 1] == "-", pattern[index + 2] != "]" {
        if low.value <= scalar.value, scalar.value <= pattern[index + 2].value { fits = true }
        index += 3
      } else {
        if low == scalar { fits = true }
        index += 1
      }
    }
    return nil
  }
}
