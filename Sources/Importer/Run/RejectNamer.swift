import Base
import Engine

/// Chooses the files for rejected records of an import's inputs, and tracks how much of each file belongs to
/// earlier inputs, as several inputs may share one.
///
/// A file begins with the record that names the columns of its inputs. Inputs with another such record, or in
/// another encoding, get a file of their own. So does an import that begins at the start, since existing
/// files are not overwritten. An import that resumes continues the file named by its checkpoint.
struct RejectNamer {
  private let options: ImportOptions
  /// The files that rejected records must not overwrite.
  private let taken: Set<FileIdentity>
  private let inputs: [String]
  private var kinds: [String: [Kind]] = [:]
  /// The names shared by several inputs.
  private var shared: Set<String> = []

  /// The common state of inputs that share a file.
  private struct Kind {
    let header: [UInt8]?
    let encoding: TextEncoding
    /// The log of this run.
    var log: RejectLog?
    /// The end of the rejects of earlier inputs.
    var place = RejectPlace()
    /// The number in the name of its rejects file, existing or not.
    var number: Int { log?.place.number ?? place.number }
  }

  /// The choice of a file.
  struct Choice: Sendable {
    fileprivate let name: RejectName
    fileprivate let kind: Int
  }

  init(_ options: ImportOptions, _ files: [InputFile]) throws(SystemError) {
    self.options = options
    inputs = files.map(\.path)
    var taken = Set(files.compactMap(\.identity))
    if let status = try System.statusIfPresent(path: options.database) {
      taken.insert(FileIdentity(device: status.device, inode: status.inode))
    }
    self.taken = taken
    var known: Set<String> = []
    for base in inputs.map({ name($0).base }) where !known.insert(base).inserted {
      shared.insert(base)
    }
  }

  /// Refuses names that would overwrite an input, the database or a foreign file.
  func check() throws {
    if options.rejects?.isEmpty == true {
      throw ImportError.invalidOption("--rejects names a file")
    }
    for name in Set(inputs.map(name)) where try !name.isTooLong() {
      for file in [name.base, RejectName.reasonsPath(name.base)] {
        if try isTaken(file) {
          throw ImportError.invalidOption(
            "rejected records would go to \(file), which is an input or the database; "
              + "name another file with --rejects")
        }
        if let reason = try Database.refusal(ofOutput: file, own: options.database) {
          throw ImportError.invalidOption(
            "rejected records would go to \(file): \(reason); name another file with --rejects")
        }
      }
      try name.refuseForeign()
    }
  }

  private func isTaken(_ path: String) throws(SystemError) -> Bool {
    guard let status = try System.statusIfPresent(path: path) else {
      return path == options.database
    }
    return taken.contains(FileIdentity(device: status.device, inode: status.inode))
  }

  /// Returns whether the file of changes goes to the path of rejects, or of their reasons.
  private static func goesTo(_ path: String, _ changes: String?) -> Bool {
    guard let changes else { return false }
    return [path, RejectName.reasonsPath(path)].contains {
      $0 == changes || System.areTheSame($0, changes)
    }
  }

  private func name(_ input: String) -> RejectName {
    if let given = options.rejects { return RejectName(base: given, isGiven: true) }
    var name = input == "-" ? "stdin" : System.name(of: input)
    if ServerAddress.isURL(input) { name = ServerQuery.name }
    name = Compression.withoutExtension(name)
    let stem = name.hasSuffix(".csv") ? String(name.dropLast(4)) : name
    let folder = System.directory(of: options.database)
    return RejectName(
      base: (folder == "." ? "" : folder == "/" ? "/" : folder + "/") + stem + ".rejects.csv",
      isGiven: false)
  }

  /// The names of all inputs' rejects, each once.
  var names: [RejectName] {
    var known: Set<RejectName> = []
    return inputs.map(name).filter { known.insert($0).inserted }
  }

  /// Returns whether rejects of another input may go to the same file.
  func isShared(_ input: String) -> Bool { shared.contains(name(input).base) }

  /// The file named by a checkpoint of the input.
  func path(of input: String, _ place: RejectPlace) -> String { name(input).path(place.number) }

  /// The choice for an input's rejects.
  mutating func choice(of input: String, header: [UInt8]?, encoding: TextEncoding) -> Choice {
    let name = name(input)
    let known = kinds[name.base] ?? []
    if let kind = known.firstIndex(where: { $0.header == header && $0.encoding == encoding }) {
      return Choice(name: name, kind: kind)
    }
    kinds[name.base, default: []].append(Kind(header: header, encoding: encoding))
    return Choice(name: name, kind: known.count)
  }

  /// Notes the end of the rejects of an earlier input.
  mutating func add(_ checkpoint: Checkpoint, to choice: Choice) {
    guard var kind = kinds[choice.name.base]?[choice.kind] else { return }
    let (own, other) = (kind.place, checkpoint.rejects)
    if other.number > own.number || (other.number == own.number && other.records > own.records) {
      kind.place = other
      kinds[choice.name.base]?[choice.kind] = kind
    }
  }

  /// Opens the file: truncated to the committed rejects, continued after those of earlier inputs, or new.
  ///
  /// - Parameters:
  ///   - input: the input's name in the reasons.
  ///   - later: the names of later inputs of which nothing was committed.
  ///   - notes: receives notes about files that have changed since.
  mutating func log(
    _ choice: Choice, input: String, goingOnFrom checkpoint: Checkpoint?,
    later: () throws -> [String] = { [] }, notes: inout [String]
  ) throws -> RejectLog {
    guard let known = kinds[choice.name.base], known.indices.contains(choice.kind) else {
      return RejectLog(name: choice.name, database: options.database)
    }
    let kind = known[choice.kind]
    if let log = kind.log, checkpoint.map({ $0.rejects == log.place }) ?? true { return log }
    let others = Set(known.indices.filter { $0 != choice.kind }.map { known[$0].number })
    let log = RejectLog(
      name: choice.name, header: kind.header, encoding: kind.encoding, database: options.database,
      isTaken: { [changes = options.changes] in
        others.contains($0) || Self.goesTo(choice.name.path($0), changes)
      })
    if options.dryRun { return log }
    let place = checkpoint?.rejects ?? kind.place
    let isOwn =
      try place.number > 0
      && log.goOn(at: place, input: input, after: checkpoint?.records ?? 0, later: later)
    if !isOwn {
      if place.records > 0 {
        notes.append(
          "\(choice.name.path(place.number)) is not as the import left it: rejected records of "
            + "\(input) from here on go to another file")
      }
      if let log = kind.log { return log }
      try log.beginAnew()
    }
    kinds[choice.name.base]?[choice.kind].log = log
    return log
  }
}
