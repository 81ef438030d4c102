import Base
import Engine

/// The files of rejected records: the original bytes in one, the reasons, a JSON object a line, in another
/// beside it. Both are created with the first reject.
///
/// The bytes are written before the commit of their batch, whose checkpoint has the files' names and lengths:
/// an import that resumes truncates them to the committed rejects.
///
/// Thread rule: confined to the writer's thread.
final class RejectLog {
  let name: RejectName
  private(set) var place = RejectPlace()
  var path: String { name.path(place.number) }
  var reasonsPath: String { RejectName.reasonsPath(path) }
  /// True when this run, or the one that it continues, has rejected a record.
  var isUsed: Bool { place.records > 0 }

  private var files: (records: Int32, reasons: Int32)?
  /// True when the files of `place` exist in the state in which this run left them.
  private var isBegun = false
  private var folderIsFlushed = false
  private var sums = (records: RunningChecksum(), reasons: RunningChecksum())
  private var json = JSONWriter()
  private let encoding: TextEncoding
  /// The input's record of column names, so that the rejected records can be imported alone.
  private let header: [UInt8]?
  /// The file whose permissions the rejects get.
  private let database: String
  private let isTaken: (Int) -> Bool

  /// The beginning of every line of reasons.
  static let mark: [UInt8] = Array("{\"file\":".utf8)
  private static let lockByte = 1 << 60

  /// - Parameters:
  ///   - header: the beginning of a new file, in the input's bytes.
  ///   - encoding: the encoding of the input. Its records are written unchanged, so a file of rejects in
  ///     UTF-16 is UTF-16 with a byte-order mark.
  ///   - database: the file whose owner and permissions a new file gets; empty: only its owner may use the
  ///     file.
  ///   - isTaken: returns true for numbers of the name that must not be used.
  init(
    name: RejectName, header: [UInt8]? = nil, encoding: TextEncoding = .utf8, database: String,
    isTaken: @escaping (Int) -> Bool = { _ in false }
  ) {
    self.name = name
    self.header = header
    self.encoding = encoding
    self.database = database
    self.isTaken = isTaken
  }

  deinit { close() }

  /// Closes the files until the next write, as an import may have thousands of them.
  func close() {
    if let files {
      System.close(files.records)
      System.close(files.reasons)
    }
    files = nil
  }

  // MARK: Which files

  /// Chooses files that do not exist yet.
  ///
  /// - Throws: `SystemError`, `ImportError.cannotCreate`.
  func beginAnew() throws { try beginAnew(from: 1) }

  private func beginAnew(from number: Int) throws {
    close()
    isBegun = false
    folderIsFlushed = false
    sums = (RunningChecksum(), RunningChecksum())
    place = RejectPlace(number: try name.free(from: number, except: isTaken))
    place.checksum = checksum
  }

  /// Continues after `place`, and truncates the rejects that an interrupted run has written after its last
  /// committed batch.
  ///
  /// - Parameters:
  ///   - input: the input's name in the reasons.
  ///   - record: its last committed record.
  ///   - later: the names of later inputs of which nothing was committed. An interrupted run may have been
  ///     ahead with them.
  /// - Returns: false when the files have changed, or foreign rejects follow. The files are then unchanged.
  /// - Throws: `SystemError`; the errors of `later`.
  func goOn(
    at place: RejectPlace, input: String, after record: Int, later: () throws -> [String] = { [] }
  ) throws -> Bool {
    let (path, reasonsPath) = (
      name.path(place.number), RejectName.reasonsPath(name.path(place.number))
    )
    let isThere = try RejectName.status(path) != nil
    guard try isThere == (RejectName.status(reasonsPath) != nil) else { return false }
    if !isThere {
      if place.records > 0 || place.reasons > 0 { return false }
      self.place = place
      return true
    }
    guard let files = try reopen(path), try isAsLeft(place, files, input, record, later) else {
      close()
      return false
    }
    try System.resize(files.records, to: place.records, path: path)
    try System.resize(files.reasons, to: place.reasons, path: reasonsPath)
    self.place = place
    isBegun = true
    return true
  }

  /// Opens existing files; nil when there are none, or this user may not write them.
  private func reopen(_ path: String) throws -> (records: Int32, reasons: Int32)? {
    let reasonsPath = RejectName.reasonsPath(path)
    do {
      let reasons = try System.openRegular(reasonsPath, writable: true)
      do {
        files = (try System.openRegular(path, writable: true), reasons)
      } catch {
        System.close(reasons)
        throw error
      }
    } catch let error as SystemError
      where error.isNoRegularFile || error.isReadOnly || error.isMissing
    {
      return nil
    }
    return files
  }

  private func isAsLeft(
    _ place: RejectPlace, _ files: (records: Int32, reasons: Int32), _ input: String, _ record: Int,
    _ later: () throws -> [String]
  ) throws -> Bool {
    let reasonsPath = RejectName.reasonsPath(path)
    guard try isMine(files.records),
      let records = try Self.checksum(files.records, place.records, path),
      let reasons = try Self.checksum(files.reasons, place.reasons, reasonsPath)
    else { return false }
    sums = (records, reasons)
    guard place.checksum == checksum else { return false }
    var next = [UInt8](repeating: 0, count: 16 << 10)
    let count = try next.withUnsafeMutableBytes {
      try System.read(files.reasons, at: place.reasons, into: $0, path: reasonsPath)
    }
    if count > 0 {
      return try isOwnReason(next[..<count], input, after: record)
        || later().contains { isOwnReason(next[..<count], $0, after: 0) }
    }
    // Reasons are written first, so records without reasons are foreign.
    return try System.status(files.records, path: path).size == place.records
  }

  /// Returns whether a line of reasons is about a later record of this input.
  private func isOwnReason(_ line: ArraySlice<UInt8>, _ input: String, after record: Int) -> Bool {
    var own = JSONWriter()
    own.beginObject()
    own.key("file")
    own.string(input)
    own.key("record")
    guard line.starts(with: own.bytes) else { return own.bytes.starts(with: line) }
    let digits = line.dropFirst(own.bytes.count).prefix { (0x30...0x39).contains($0) }
    return (Int(String(decoding: digits, as: UTF8.self)) ?? 0) > record
  }

  /// The checksum of a file's beginning; nil when it is shorter.
  private static func checksum(_ descriptor: Int32, _ length: Int, _ path: String) throws
    -> RunningChecksum?
  {
    var sum = RunningChecksum()
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while sum.count < length {
      let wanted = min(piece.count, length - sum.count)
      let count = try piece.withUnsafeMutableBytes {
        let part = UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted])
        let count = try System.read(descriptor, at: sum.count, into: part, path: path)
        sum.update(UnsafeRawBufferPointer(rebasing: part[..<count]))
        return count
      }
      if count < wanted { return nil }
    }
    return sum
  }

  private var checksum: UInt64 {
    var writer = ByteWriter(capacity: 16)
    writer.append(sums.records.value)
    writer.append(sums.reasons.value)
    return Checksum.of(writer.bytes)
  }

  /// Ensures that no other process writes to the file while it is open here.
  private func isMine(_ descriptor: Int32) throws -> Bool {
    try System.lock(
      descriptor, .exclusive, at: Self.lockByte, length: 1, wait: false, path: path)
  }

  private func open() throws -> (records: Int32, reasons: Int32) {
    if let files { return files }
    if isBegun {
      if let files = try reopen(path), try isMine(files.records),
        try System.status(files.records, path: path).size == place.records,
        try System.status(files.reasons, path: reasonsPath).size == place.reasons
      {
        return files
      }
      try beginAnew(from: place.number + 1)
    }
    while true {
      if let files = try create() {
        isBegun = true
        return files
      }
      try beginAnew(from: place.number + 1)
    }
  }

  /// Creates both files, the reasons first, by which both are recognized as Sheaf's. Nil: another process was
  /// faster.
  private func create() throws -> (records: Int32, reasons: Int32)? {
    let reasons: Int32
    do {
      reasons = try create(reasonsPath)
    } catch let error as SystemError where error.isExisting {
      return nil
    }
    do {
      let records = try createRecords()
      files = (records, reasons)
      if try isMine(records), try System.status(records, path: path).size == 0 { return files }
      files = nil
      System.close(records)
    } catch {
      if let files { System.close(files.records) }
      files = nil
      System.close(reasons)
      try System.remove(reasonsPath)
      if let error = error as? SystemError, error.isExisting { return nil }
      throw error
    }
    System.close(reasons)
    try System.remove(reasonsPath)
    return nil
  }

  private func createRecords() throws -> Int32 {
    do {
      return try create(path)
    } catch let error as SystemError where error.isExisting && name.isGiven && place.number == 1 {
      return try System.openRegular(path, writable: true)
    }
  }

  private func create(_ path: String) throws -> Int32 {
    let descriptor: Int32
    do {
      descriptor = try System.open(path, .createNew, permissions: 0o600)
    } catch  where error.isNameTooLong {
      throw ImportError.cannotCreate(
        path: self.path,
        reason:
          "rejected records cannot go there, since the name of their reasons would be too long "
          + "(--rejects gives them another)")
    }
    // For a server there is no file whose permissions the rejects could get.
    if database.isEmpty { return descriptor }
    do {
      let source = try System.open(database, .readOnly)
      defer { System.close(source) }
      try System.copyAccessAsAllowed(from: source, to: descriptor, path: path)
      return descriptor
    } catch {
      System.close(descriptor)
      try System.remove(path)
      throw error
    }
  }

  // MARK: Writing

  /// Appends rejects to both files.
  ///
  /// - Throws: `SystemError`; `ImportError.cannotCreate`.
  func write(_ rejects: [Reject]) throws {
    guard !rejects.isEmpty else { return }
    let files = try open()
    var bytes = place.records == 0 ? byteOrderMark : []
    if place.records == 0, let header { bytes += header + Transcoder.ascii(0x0A, encoding) }
    json.removeAll()
    for reject in rejects {
      bytes += reject.original
      bytes += Transcoder.ascii(0x0A, encoding)
      append(reject)
    }
    try json.bytes.withUnsafeBytes {
      try System.write(files.reasons, at: place.reasons, $0, path: reasonsPath)
    }
    try bytes.withUnsafeBytes {
      try System.write(files.records, at: place.records, $0, path: path)
    }
    bytes.withUnsafeBytes { sums.records.update($0) }
    json.bytes.withUnsafeBytes { sums.reasons.update($0) }
    place.records += bytes.count
    place.reasons += json.bytes.count
    place.checksum = checksum
  }

  private var byteOrderMark: [UInt8] {
    switch encoding.form {
    case .utf8, .latin1, .windows1252, .system: []
    case .utf16LE: [0xFF, 0xFE]
    case .utf16BE: [0xFE, 0xFF]
    }
  }

  private func append(_ reject: Reject) {
    json.beginObject()
    json.key("file")
    json.string(PathText.shown(reject.position.file))
    json.key("record")
    json.integer(reject.record)
    json.key("line")
    json.integer(reject.position.line)
    json.key("position")
    json.integer(reject.position.column)
    json.key("byteOffset")
    json.integer(reject.position.byteOffset)
    json.key("column")
    if let column = reject.column { json.string(column) } else { json.null() }
    json.key("value")
    if let value = reject.value { json.string(value) } else { json.null() }
    json.key("reason")
    json.string(reject.reason)
    json.end()
    json.newline()
  }

  /// Makes the rejects survive a power cut, as the batches do: the bytes, and the folder's entries of new
  /// files.
  func flush() throws {
    guard let files else { return }
    try System.flush(files.records, path: path)
    try System.flush(files.reasons, path: reasonsPath)
    // The process that created the files may have been killed before it flushed the folder, so each run
    // flushes it once.
    if !folderIsFlushed { try System.flushDirectory(of: path) }
    folderIsFlushed = true
  }
}
