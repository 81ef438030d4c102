import Engine

/// Where rejected records go: the original bytes to one file, the reasons, a JSON object a line, to
/// another beside it. Both are created with the first reject.
///
/// The bytes reach the files before the batch they belong to is committed, and the checkpoint holds
/// the files' lengths: an import that goes on cuts them back to what was committed.
///
/// Thread rule: used by the writer's thread only.
final class RejectLog {
  let path: String
  let reasonsPath: String
  private var records: Int32?
  private var reasons: Int32?
  private(set) var recordsLength: Int
  private(set) var reasonsLength: Int
  /// True when this run or the one it goes on from has rejected something.
  private(set) var isUsed: Bool
  private var json = JSONWriter()
  private let encoding: TextEncoding
  /// The input's own record of column names, so that the rejected records can be imported by themselves.
  private let header: [UInt8]?

  /// - Parameters:
  ///   - recordsLength: what to keep of an existing file: what an import that goes on had written.
  ///   - header: what to begin a new file with, as it stands in the input.
  ///   - encoding: of the input. Its records are written as they are, so that a file of rejects in
  ///     UTF-16 is one, with a byte-order mark.
  init(
    path: String, recordsLength: Int, reasonsLength: Int, header: [UInt8]? = nil,
    encoding: TextEncoding = .utf8
  ) {
    self.encoding = encoding
    self.header = header
    self.path = path
    reasonsPath = Self.reasonsPath(path)
    self.recordsLength = recordsLength
    self.reasonsLength = reasonsLength
    isUsed = recordsLength > 0
  }

  static func reasonsPath(_ path: String) -> String { path + ".reasons.jsonl" }

  deinit {
    if let records { System.close(records) }
    if let reasons { System.close(reasons) }
  }

  /// Appends rejects to both files.
  ///
  /// - Throws: `SystemError`.
  func write(_ rejects: [Reject]) throws {
    guard !rejects.isEmpty else { return }
    let (records, reasons) = try open()
    var bytes = recordsLength == 0 ? mark : []
    if recordsLength == 0, let header { bytes += header + Transcoder.ascii(0x0A, encoding) }
    json.removeAll()
    for reject in rejects {
      bytes += reject.original
      bytes += Transcoder.ascii(0x0A, encoding)
      append(reject)
    }
    try bytes.withUnsafeBytes {
      try System.write(records, at: recordsLength, $0, path: path)
    }
    try json.bytes.withUnsafeBytes {
      try System.write(reasons, at: reasonsLength, $0, path: reasonsPath)
    }
    recordsLength += bytes.count
    reasonsLength += json.bytes.count
    isUsed = true
  }

  private var mark: [UInt8] {
    switch encoding {
    case .utf8, .latin1, .windows1252: []
    case .utf16LE: [0xFF, 0xFE]
    case .utf16BE: [0xFE, 0xFF]
    }
  }

  private func append(_ reject: Reject) {
    json.beginObject()
    json.key("file")
    json.string(reject.position.file)
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

  private func open() throws -> (Int32, Int32) {
    if let records, let reasons { return (records, reasons) }
    let opened = try (
      records ?? Self.open(path, keeping: recordsLength),
      reasons ?? Self.open(reasonsPath, keeping: reasonsLength)
    )
    (records, reasons) = opened
    return opened
  }

  private static func open(_ path: String, keeping length: Int) throws -> Int32 {
    let descriptor = try System.open(path, .readWriteCreate, followsLinks: false)
    do {
      let present = try System.status(descriptor, path: path).size
      if present != length { try System.resize(descriptor, to: length, path: path) }
      return descriptor
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// Makes the rejects survive a power cut, as the batches do.
  func flush() throws {
    if let records { try System.flush(records, path: path) }
    if let reasons { try System.flush(reasons, path: reasonsPath) }
  }

  /// Cuts both files to the lengths given at first: what an interrupted run had written beyond its
  /// last committed batch.
  ///
  /// - Throws: `SystemError`.
  func cutBack() throws {
    recordsLength = try Self.cut(path, to: recordsLength)
    reasonsLength = try Self.cut(reasonsPath, to: reasonsLength)
  }

  /// The length that the file has now: less than asked for when somebody took it away.
  private static func cut(_ path: String, to length: Int) throws -> Int {
    let present: Int
    do {
      present = try System.status(path: path).size
    } catch let error where error.isMissing {
      return 0
    }
    if present > length {
      let descriptor = try System.open(path, .readWrite, followsLinks: false)
      defer { System.close(descriptor) }
      try System.resize(descriptor, to: length, path: path)
    }
    return min(present, length)
  }
}
