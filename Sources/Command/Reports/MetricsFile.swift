import Base
import Engine
import Importer

/// The file of `--metrics-file`: the last run of a command, in the format of node_exporter's textfile
/// collector.
///
/// A rename replaces the whole file, so a reader never sees half of it; a run that is killed leaves the file
/// of the run before. Two things are kept from the earlier file: the time at which the command last succeeded
/// with this database, and the lines of other commands and databases.
///
/// Thread rule: one thread at a time.
final class MetricsFile {
  private let path: String
  private let command: String
  private let database: String?
  private let file: ReplacementFile
  private let started: Int

  static let suffix = ".prom"
  private static let mark = "# HELP sheaf_"
  private static let lockSeconds = 5.0
  private static let lastSuccess = "sheaf_last_success_timestamp_seconds"

  /// Creates the temporary file at once, so that a folder without write permission is found before the work.
  ///
  /// - Parameters:
  ///   - database: the command's file or server; nil when it is not known.
  ///   - others: the files that the command reads and writes; `path` must not be one of them.
  /// - Throws: `CommandError`.
  init(_ path: String, _ command: String, database: String?, others: [String]) throws {
    guard path.hasSuffix(Self.suffix), System.name(of: path) != Self.suffix else {
      throw CommandError.usage(
        "--metrics-file \(path): node_exporter reads files whose names end with \(Self.suffix)")
    }
    for other in others where other == path || System.areTheSame(other, path) {
      throw CommandError.usage(
        "--metrics-file \(path) is a file that the command reads or writes; choose another")
    }
    try CommandError.refuseCompanion(path)
    (self.path, self.command, self.database) = (path, command, database)
    started = Int(clamping: System.secondsSince1970)
    do throws(SystemError) {
      let present = try Self.open(path)
      defer { if let present { System.close(present) } }
      file = try ReplacementFile(for: path, like: nil)
      guard let present, !Self.isOurs(try Self.lines(present, path)) else { return }
    } catch {
      throw CommandError.creation(error)
    }
    throw CommandError.usage(
      "--metrics-file \(path) is there already and holds something else; choose another")
  }

  private static func open(_ path: String) throws(SystemError) -> Int32? {
    if try System.linkStatus(path: path) == nil { return nil }
    return try System.openRegular(path, writable: true)
  }

  private static func lines(_ descriptor: Int32, _ path: String) throws(SystemError) -> [String] {
    // No metrics file is longer.
    let size = min(try System.status(descriptor, path: path).size, 1 << 20)
    let bytes = try System.beginning(descriptor, count: size, path: path)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private static func isOurs(_ lines: [String]) -> Bool { lines.first?.hasPrefix(mark) ?? true }

  /// Notes a run with wrong arguments, if they nevertheless name a metrics file.
  static func noteWrongUsage(_ command: String, of definition: CommandDefinition?, words: [String])
  {
    func value(_ name: String) -> String? {
      let options = words.prefix { $0 != "--" }
      if let attached = options.first(where: { $0.hasPrefix("--\(name)=") }) {
        return String(attached.dropFirst(name.utf8.count + 3))
      }
      guard let index = options.firstIndex(of: "--\(name)") else { return nil }
      return options[(index + 1)...].first
    }
    guard definition?.option(named: CommonOptions.metricsFile.name) != nil,
      let path = value(CommonOptions.metricsFile.name), !path.hasPrefix("-")
    else { return }
    let database = value("into") ?? definition.flatMap { firstFile(words, of: $0) }
    let shown = database.map(ServerAddress.withoutPassword)
    let file = try? MetricsFile(path, command, database: shown, others: [])
    try? file?.write(.usage, nil, seconds: 0)
  }

  /// The database among words that a command has refused; nil for a command that is not about one file.
  private static func firstFile(_ words: [String], of definition: CommandDefinition) -> String? {
    guard definition.positionals.first?.name == CommonOptions.database.name else { return nil }
    var isValue = false
    for word in words {
      if isValue || word == "--" {
        isValue = false
      } else if word.hasPrefix("--") {
        let option = definition.option(named: String(word.dropFirst(2)))
        isValue = option.map { $0.placeholder != nil && $0.impliedValue == nil } ?? false
      } else if !word.hasPrefix("-") {
        return word
      }
    }
    return nil
  }

  // MARK: Writing

  /// - Parameters:
  ///   - report: the report of the run up to its end; nil when there is none.
  ///   - seconds: the duration of the run.
  /// - Throws: `CommandError`.
  func write(_ status: ExitStatus, _ report: JSONValue?, seconds: Double) throws {
    let own = samples(status, report, seconds: seconds)
    do {
      // Another job may have begun the file meanwhile: then its lines are there now.
      while try !put(own) {}
    } catch let error as SystemError {
      throw CommandError.creation(error)
    }
  }

  /// Puts the file in place, with the lines that others have written during the run. The present file is
  /// locked meanwhile, so that the lines of jobs that end at the same time are not lost.
  ///
  /// - Returns: false when there was no file and now is one.
  private func put(_ own: [Sample]) throws -> Bool {
    let present = try Self.held(path)
    defer { if let present { System.close(present) } }
    let earlier = try present.map { try Self.lines($0, path) } ?? []
    if !Self.isOurs(earlier) {
      throw CommandError(.cannotCreate, "\(path): something else was written there during the run")
    }
    var text = Self.text(merged(own, earlier))
    do {
      try System.resize(file.descriptor, to: 0, path: file.path)
      try text.withUTF8 { bytes in
        try System.write(file.descriptor, at: 0, UnsafeRawBufferPointer(bytes), path: file.path)
      }
      try file.putInPlace(replacing: present != nil)
      return true
    } catch let error as SystemError where error.isExisting && present == nil {
      return false
    }
  }

  /// The present file, locked; nil when there is none. A job that is stopped may have it locked for ever.
  private static func held(_ path: String) throws -> Int32? {
    var patience = Patience(seconds: lockSeconds)
    while let descriptor = try open(path) {
      do {
        while try !System.lock(descriptor, .exclusive, at: 0, length: 1, wait: false, path: path) {
          try patience.pause { "" }
        }
        let locked = try System.status(descriptor, path: path).inode
        if try System.linkStatus(path: path)?.inode == locked { return descriptor }
      } catch is Patience.Refusal {
        System.close(descriptor)
        throw CommandError(.cannotCreate, "\(path): another process has it locked")
      } catch {
        System.close(descriptor)
        throw error
      }
      // Another job has put a new one in its place while this one waited.
      System.close(descriptor)
    }
    return nil
  }

  private static func text(_ samples: [Sample]) -> String {
    var text = ""
    var last: String?
    for (name, labels, value) in samples {
      if name != last {
        text += "\(mark)\(name.dropFirst(6)) \(help(name))\n# TYPE \(name) gauge\n"
      }
      last = name
      text += "\(name)\(labels) \(value)\n"
    }
    return text
  }

  private typealias Sample = (name: String, labels: String, value: String)

  private func samples(_ status: ExitStatus, _ report: JSONValue?, seconds: Double) -> [Sample] {
    let labels = labels
    let now = Int(clamping: System.secondsSince1970)
    var samples: [Sample] = [
      ("sheaf_last_run_start_timestamp_seconds", labels, "\(started)"),
      ("sheaf_last_run_end_timestamp_seconds", labels, "\(now)"),
      ("sheaf_last_run_exit_status", labels, "\(status.rawValue)"),
      ("sheaf_last_run_seconds", labels, "\(seconds)"),
    ]
    if status == .done { samples.append((Self.lastSuccess, labels, "\(now)")) }
    if case .object(let members)? = report {
      for (name, value) in Self.numbers(members, "") where name != "seconds" {
        samples.append(("sheaf_last_run_\(name)", labels, value))
      }
    }
    return samples
  }

  private var labels: String {
    func label(_ name: String, _ value: String) -> String {
      var escaped = ""
      for scalar in value.unicodeScalars {
        switch scalar {
        case "\\": escaped += "\\\\"
        case "\"": escaped += "\\\""
        case "\n": escaped += "\\n"
        default: escaped.unicodeScalars.append(scalar)
        }
      }
      return "\(name)=\"\(escaped)\""
    }
    let all = [label("command", command)] + (database.map { [label("database", $0)] } ?? [])
    return "{\(all.joined(separator: ","))}"
  }

  /// The numbers of a report under the names of the metrics; lists are left out.
  private static func numbers(_ members: [JSONValue.Member], _ prefix: String) -> [(String, String)]
  {
    var found: [(String, String)] = []
    for member in members {
      let name = prefix + snake(member.key)
      switch member.value {
      case .int(let number): found.append((name, "\(number)"))
      case .double(let number): found.append((name, "\(number)"))
      case .bool(let isTrue): found.append((name, isTrue ? "1" : "0"))
      case .object(let members) where prefix.isEmpty: found += numbers(members, name + "_")
      default: break
      }
    }
    return found
  }

  /// `bytesRead` as `bytes_read`.
  private static func snake(_ name: String) -> String {
    var snake = ""
    for character in name {
      if character.isUppercase { snake += "_" }
      snake += character.lowercased()
    }
    return snake
  }

  private static func help(_ name: String) -> String {
    switch name {
    case "sheaf_last_run_start_timestamp_seconds": "When the command began its last run."
    case "sheaf_last_run_end_timestamp_seconds": "When that run ended."
    case "sheaf_last_run_exit_status": "Its exit status; 0: done."
    case "sheaf_last_run_seconds": "How long it took."
    case lastSuccess: "When the command last ended with status 0."
    default: "What the report of the last run says."
    }
  }

  // MARK: The earlier file

  /// The run's samples, and from the earlier file those of others and the time of the last success; sorted by
  /// name, as the format requires.
  private func merged(_ own: [Sample], _ earlier: [String]) -> [Sample] {
    let labels = labels
    let names = Set(own.map(\.name))
    let kept = earlier.compactMap(Self.sample).filter { sample in
      sample.labels != labels || sample.name == Self.lastSuccess && !names.contains(sample.name)
    }
    var order: [String] = []
    var byName: [String: [Sample]] = [:]
    for sample in own + kept {
      if byName[sample.name] == nil { order.append(sample.name) }
      byName[sample.name, default: []].append(sample)
    }
    return order.flatMap { byName[$0] ?? [] }
  }

  /// Reads a line that `write` has written; nil for all others.
  private static func sample(_ line: String) -> Sample? {
    guard line.hasPrefix("sheaf_"), let open = line.firstIndex(of: "{"),
      let close = line.lastIndex(of: "}"), open < close
    else { return nil }
    let value = line[line.index(after: close)...].drop { $0 == " " }
    guard Double(value) != nil else { return nil }
    return (String(line[..<open]), String(line[open...close]), String(value))
  }
}
