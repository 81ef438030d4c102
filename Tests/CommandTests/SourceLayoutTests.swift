import Foundation
import Testing

/// The order of the folders, which docs/design.md gives: a folder names only what lies in the
/// folders below it.
@Suite("Source layout")
struct SourceLayoutTests {
  /// From the top to the bottom.
  static let modules = ["Command", "Importer", "Engine", "Base"]
  static let orders: [String: [String]] = [
    "Base": ["Processes", "Threads", "System", "Schedule", "Bytes"],
    "Engine": [
      "Sessions", "Database", "Transactions", "Maintenance", "Notifications", "Query", "Objects",
      "Schema", "Index", "Tree", "Cluster", "Encodings", "Values", "Versions", "Blocks", "Storage",
      "Support",
    ],
    "Importer": [
      "Loading", "Run", "Export", "Pipeline", "PostgreSQL", "Columns", "Sniffing", "CSV", "Input",
      "Threads", "Model",
    ],
    "Command": [
      "Program", "Commands", "Torture", "Tune", "Reports", "Manual", "Sample", "Children",
      "Arguments", "Terminal", "Outcome",
    ],
  ]

  @Test("A folder names only types of the folders below it", arguments: orders.keys.sorted())
  func order(module: String) throws {
    let order = try #require(Self.orders[module])
    let root = URL(fileURLWithPath: Repository.path("Sources")).appendingPathComponent(module)
    // A file beside the folders would be in none of them.
    let present = try FileManager.default.contentsOfDirectory(atPath: root.path)
      .filter { !$0.hasSuffix(".docc") }
    #expect(Set(present) == Set(order), "docs/design.md and this test name the folders")
    var declared: [String: Set<String>] = [:]
    var nested: [String: Set<String>] = [:]
    var sources: [(folder: String, file: String, words: Set<String>)] = []
    for folder in order {
      let path = root.appendingPathComponent(folder)
      for file in try FileManager.default.contentsOfDirectory(atPath: path.path)
      where file.hasSuffix(".swift") {
        let code = Self.code(
          try String(contentsOf: path.appendingPathComponent(file), encoding: .utf8))
        declared[folder, default: []].formUnion(Self.declarations(code, atTopLevel: true))
        nested[folder, default: []].formUnion(Self.declarations(code, atTopLevel: false))
        sources.append((folder, file, Self.words(code)))
      }
    }
    for (position, folder) in order.enumerated() {
      let above = order[..<position].reduce(into: Set<String>()) {
        $0.formUnion(declared[$1] ?? [])
      }
      // A name that is declared at the folder's level or below, nested or not, means that declaration.
      let own = order[position...].reduce(into: Set<String>()) { $0.formUnion(nested[$1] ?? []) }
      for source in sources where source.folder == folder {
        let wrong = source.words.intersection(above).subtracting(own)
        #expect(wrong.isEmpty, "\(folder)/\(source.file) names \(wrong.sorted())")
      }
    }
  }

  @Test("A module imports only modules below it")
  func imports() throws {
    for (position, module) in Self.modules.enumerated() {
      for source in try Self.sources(of: module) {
        let lines = source.text.split(separator: "\n").filter { $0.contains("import ") }
        let wrong = Set(
          lines.compactMap { line in
            line.firstMatch(of: /^ *(?:@[a-z_]+ )?import (?:[a-z]+ )?(\w+)/).map {
              String($0.output.1)
            }
          }
        ).intersection(Self.modules[...position])
        #expect(wrong.isEmpty, "\(module)/\(source.file) imports \(wrong.sorted())")
      }
    }
  }

  @Test("The importer uses of the engine's package interface what docs/design.md says")
  func interface() throws {
    let design = try String(contentsOfFile: Repository.path("docs/design.md"), encoding: .utf8)
    let table = try #require(
      design.firstMatch(of: /(?s)`Importer` uses of `Engine` \|(.*?)A test compares/))
    let said = Set(
      table.output.1.matches(of: /`(?:[A-Z][a-z]+\/)?([A-Z][A-Za-z]*)(?:\.swift)?`/)
        .map { String($0.output.1) })
    let importer = try Self.sources(of: "Importer").map { Self.code($0.text) }
      .joined(separator: "\n")
    let named = Self.words(importer).subtracting(Self.declarations(importer, atTopLevel: false))
    var known = Set(try #require(Self.orders["Engine"]))
    for source in try Self.sources(of: "Engine") {
      let file = source.file.split(separator: "/").last?.split(separator: ".").first ?? ""
      let code = Self.code(source.text)
      let lines = code.split(separator: "\n").filter { $0.hasPrefix("public ") }
      let published = Self.words(lines.joined(separator: "\n"))
      for type in named.intersection(Self.declarations(code, atTopLevel: true)) {
        known.formUnion([type, String(file)])
        if published.contains(type) { continue }
        #expect(said.contains(type) || said.contains(String(file)), "\(type) of \(source.file)")
      }
    }
    #expect(said.isSubset(of: known), "\(said.subtracting(known).sorted()) it does not use")
  }

  @Test("Nothing that a person would have to clean up is left in the sources")
  func leftovers() throws {
    let root = URL(fileURLWithPath: Repository.path("Sources"))
    let files = try #require(FileManager.default.enumerator(atPath: root.path))
    for case let file as String in files where file.hasSuffix(".swift") {
      let text = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
      for mark in ["TODO", "FIXME", "XXX", "fatalError(", "try!", "import Foundation"] {
        #expect(!text.contains(mark), "\(file) has \(mark)")
      }
      // `replacing("x"` misses a character with a combining mark behind it, and so does not escape
      // safely.
      #expect(!text.contains(".replacing(\""), "\(file): use replacing(sign:with:)")
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 500, "\(file) has \(lines.count) lines: is it one idea?")
      for (number, line) in lines.enumerated() where line.count > 110 {
        Issue.record("\(file):\(number + 1) has \(line.count) characters")
      }
      for (name, count) in Self.functions(lines) where count > 70 {
        Issue.record("\(file): \(name) has \(count) lines: is it one thing?")
      }
    }
  }

  @Test("No file of the tests is too long, nor a comment's line", arguments: ["Tests", "samples"])
  func testLengths(folder: String) throws {
    let files = try #require(FileManager.default.enumerator(atPath: Repository.path(folder)))
    for case let file as String in files where file.hasSuffix(".swift") {
      let lines = try String(contentsOfFile: Repository.path("\(folder)/\(file)"), encoding: .utf8)
        .split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 500, "\(file) has \(lines.count) lines: is it one idea?")
      for (number, line) in lines.enumerated()
      where line.count > 110 && line.contains(/^ *\/\//) {
        Issue.record("\(file):\(number + 1) has \(line.count) characters")
      }
    }
  }

  /// Tables, and commands in fences or behind four blanks, cannot be wrapped.
  @Test("No line of a page is too long", arguments: ["docs", "Sources/Engine/Engine.docc", "."])
  func pageLengths(folder: String) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Repository.path(folder))
    // Its entries are written in many branches at once, and are not wrapped again.
    for file in files where file.hasSuffix(".md") && file != "CHANGELOG.md" {
      let text = try String(contentsOfFile: Repository.path("\(folder)/\(file)"), encoding: .utf8)
      var isInFence = false
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated()
      {
        if line.hasPrefix("```") { isInFence.toggle() }
        if isInFence || line.hasPrefix("|") || line.hasPrefix("    ") { continue }
        #expect(line.count <= 110, "\(file):\(number + 1)")
      }
    }
  }

  /// Object files of a compiler were once committed there.
  @Test("At the top lies only what belongs there")
  func top() throws {
    let known: Set<String> = [
      "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Package.resolved", "Package.swift",
      "README.md",
      "Sources", "Tests", "bench-results", "docs", "samples", "scripts",
    ]
    let found = try FileManager.default.contentsOfDirectory(atPath: Repository.path("."))
      // Except hidden files, and the outputs of the README's commands, which git ignores.
      .filter { !$0.hasPrefix(".") && !$0.contains(".sheaf") && $0 != "work" }
    #expect(Set(found).isSubset(of: known), "\(Set(found).subtracting(known).sorted())")
  }

  @Test("Tests lie where the source lies, and each file has a name of its own")
  func testFolders() throws {
    // Folders of tests that cover a whole module.
    let own: Set<String> = ["Documentation", "EndToEnd", "Faults", "SystemFaults"]
    for (module, order) in Self.orders {
      let path = Repository.path("Tests/\(module)Tests")
      let folders = try FileManager.default.contentsOfDirectory(atPath: path)
        .filter { !$0.hasSuffix(".swift") }
      let wrong = Set(folders).subtracting(order).subtracting(own)
      #expect(wrong.isEmpty, "\(module)Tests has \(wrong)")
    }
    var names: [String: String] = [:]
    let all = try #require(FileManager.default.enumerator(atPath: Repository.path("Tests")))
    for case let file as String in all where file.hasSuffix(".swift") {
      let name = String(file.split(separator: "/").last ?? "")
      if let other = names.updateValue(file, forKey: name) { Issue.record("\(file) and \(other)") }
    }
  }

  @Test("Every function that the tour passes is there")
  func tour() throws {
    let text = try String(contentsOfFile: Repository.path("docs/tour.md"), encoding: .utf8)
    var passed = 0
    for word in text.split(separator: "`") where word.contains(".swift: ") {
      let parts = word.split(separator: ".swift: ", maxSplits: 1)
      guard parts.count == 2, parts[0].contains("/") else { continue }
      let source = try String(
        contentsOfFile: Repository.path("Sources/\(parts[0]).swift"), encoding: .utf8)
      #expect(source.contains("func \(parts[1])("), "\(word)")
      passed += 1
    }
    #expect(passed > 30)
  }

  /// Functions with the number of their lines.
  private static func functions(_ lines: [Substring]) -> [(name: String, count: Int)] {
    var found: [(String, Int)] = []
    var open: (name: String, indent: Substring, first: Int)?
    for (number, line) in lines.enumerated() {
      let indent = line.prefix { $0 == " " }
      if let function = open, line == function.indent + "}" {
        found.append((function.name, number - function.first + 1))
        open = nil
      } else if open == nil, ["func ", "init", "subscript"].contains(where: line.contains),
        let match = line.firstMatch(of: /^ *(?:[a-z@()]+ )*((?:func [^(<]+|init|subscript))[?(<]/),
        !line.hasSuffix("}")
      {
        open = (String(match.output.1), indent, number)
      } else if let function = open, !line.isEmpty, indent.count < function.indent.count {
        // The function has no body: it belongs to a protocol.
        open = nil
      }
    }
    return found
  }

  private static func sources(of module: String) throws -> [(file: String, text: String)] {
    let root = URL(fileURLWithPath: Repository.path("Sources")).appendingPathComponent(module)
    let files = try #require(FileManager.default.enumerator(atPath: root.path))
    return try files.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.map {
      ($0, try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8))
    }
  }

  /// The text without comments and string literals. Regular expressions, which take microseconds a character
  /// here, only look at the lines that may match.
  private static func code(_ text: String) -> String {
    let text = text.contains("\"\"\"") ? text.replacing(#/(?s)""".*?"""/#, with: "") : text
    return text.split(separator: "\n").map { line in
      let code = line.range(of: "//").map { line[..<$0.lowerBound] } ?? line
      guard code.utf8.contains(UInt8(ascii: "\"")) else { return String(code) }
      return String(code).replacing(/"(\\.|[^"\\])*"/, with: "\"\"")
    }.joined(separator: "\n")
  }

  private static let typeKeywords = ["struct ", "class ", "enum ", "protocol ", "typealias "]

  /// Types declared in a file: those at its top level, or all.
  private static func declarations(_ code: String, atTopLevel: Bool) -> [String] {
    code.split(separator: "\n").compactMap { line in
      if atTopLevel, line.first == " " { return nil }
      guard typeKeywords.contains(where: { line.contains($0) }) else { return nil }
      return line.firstMatch(
        of: /^\s*(?:[a-z@()]+ )*(?:struct|class|enum|protocol|typealias) ([A-Z][A-Za-z0-9]*)/
      ).map { String($0.output.1) }
    }
  }

  /// Names that begin with a capital. Those behind a point are left out: a member may have the name of
  /// another type.
  private static func words(_ code: String) -> Set<String> {
    var found: Set<String> = []
    var word: [UInt8] = []
    var isMember = false
    for byte in Array(code.utf8) + [0] {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        word.append(byte)
      default:
        if !isMember, let first = word.first, first >= UInt8(ascii: "A"), first <= UInt8(ascii: "Z")
        {
          found.insert(String(decoding: word, as: UTF8.self))
        }
        isMember = byte == UInt8(ascii: ".")
        word.removeAll(keepingCapacity: true)
      }
    }
    return found
  }
}
