import Engine

/// Which files the rejected records of an import's inputs go to, and how much of each belongs to the
/// inputs so far: several inputs may share one.
///
/// A file begins with the record that names the columns of its inputs. Inputs with another such record,
/// or in another encoding, get a file of their own, numbered from 2.
struct RejectFiles {
  private let options: ImportOptions
  /// What rejected records may not be written over.
  private let taken: Set<FileIdentity>
  private let inputs: [String]
  private var written: [String: (records: Int, reasons: Int)] = [:]
  private var kinds: [String: [Kind]] = [:]

  /// What inputs that share a file have in common.
  private struct Kind: Equatable {
    let header: [UInt8]?
    let encoding: TextEncoding
  }

  init(_ options: ImportOptions, _ files: [InputFile]) {
    self.options = options
    inputs = files.map(\.path)
    var taken = Set(files.compactMap(\.identity))
    if let status = try? System.status(path: options.database) {
      taken.insert(FileIdentity(device: status.device, inode: status.inode))
    }
    self.taken = taken
  }

  /// Rejects written over an input or the database would destroy it.
  func check() throws {
    for path in Set(inputs.map(base)) { try check(path) }
  }

  private func check(_ path: String) throws {
    for file in [path, RejectLog.reasonsPath(path)] where isTaken(file) {
      throw ImportError.invalidOption(
        "rejected records would go to \(file), which is an input or the database; "
          + "name another file with --rejects")
    }
    for file in [path, RejectLog.reasonsPath(path)] {
      if let reason = Database.refusal(ofOutput: file, own: options.database) {
        throw ImportError.invalidOption(
          "rejected records would go to \(file): \(reason); name another file with --rejects")
      }
    }
  }

  private func isTaken(_ path: String) -> Bool {
    guard let status = try? System.status(path: path) else { return path == options.database }
    return taken.contains(FileIdentity(device: status.device, inode: status.inode))
  }

  /// The file for an input's rejects. To be asked for the inputs in their order.
  mutating func path(of input: String, header: [UInt8]?, encoding: TextEncoding) throws -> String {
    let base = base(input)
    let kind = Kind(header: header, encoding: encoding)
    let known = kinds[base] ?? []
    let index = known.firstIndex(of: kind) ?? known.count
    if index == known.count { kinds[base, default: []].append(kind) }
    if index == 0 { return base }
    let folder = base.utf8.lastIndex(of: 0x2F).map { base.index(after: $0) } ?? base.startIndex
    let point = base[folder...].lastIndex(of: ".") ?? base.endIndex
    let path = "\(base[..<point]).\(index + 1)\(base[point...])"
    try check(path)
    return path
  }

  private func base(_ input: String) -> String {
    if let given = options.rejects { return given }
    var name = input == "-" ? "stdin" : input.split(separator: "/").last.map(String.init) ?? input
    name = Compression.withoutExtension(name)
    let stem = name.hasSuffix(".csv") ? String(name.dropLast(4)) : name
    let folder = System.directory(of: options.database)
    return (folder == "." ? "" : folder == "/" ? "/" : folder + "/") + stem + ".rejects.csv"
  }

  /// The file, cut back to what is committed, or going on behind the rejects of the inputs before.
  func log(
    _ path: String, header: [UInt8]?, encoding: TextEncoding, goingOnFrom checkpoint: Checkpoint?
  ) throws -> RejectLog {
    let before = written[path] ?? (0, 0)
    let log = RejectLog(
      path: path, recordsLength: checkpoint?.rejectsLength ?? before.records,
      reasonsLength: checkpoint?.reasonsLength ?? before.reasons, header: header,
      encoding: encoding)
    if checkpoint != nil || before.records > 0, !options.dryRun { try log.cutBack() }
    return log
  }

  /// Notes how long the files are behind an input.
  mutating func wrote(_ log: RejectLog) {
    written[log.path] = (log.recordsLength, log.reasonsLength)
  }

  /// The same for an input that was imported before.
  mutating func wrote(_ path: String, _ checkpoint: Checkpoint) {
    let before = written[path] ?? (0, 0)
    written[path] = (
      max(before.records, checkpoint.rejectsLength), max(before.reasons, checkpoint.reasonsLength)
    )
  }
}
