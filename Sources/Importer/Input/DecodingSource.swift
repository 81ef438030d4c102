/// An input as UTF-8, whatever its encoding. A byte-order mark, the user or a guess determines the encoding.
///
/// The mark stays at the front, as UTF-8's. UTF-8 itself is passed through. Positions for `seek` are those of
/// the original input, at the beginning of a character.
///
/// Memory: at most 64 KiB of the input and their UTF-8; for an encoding of the system, also the input's bytes
/// until they are taken from `original`.
///
/// Thread rule: see `ByteSource`.
package final class DecodingSource: ByteSource, @unchecked Sendable {
  // @unchecked: only the reading thread uses the mutable state; see `ByteSource`.
  package var name: String { source.name }
  package var identity: InputIdentity? { source.identity }
  package var change: String? { source.change }
  package var isCancelled: @Sendable () -> Bool {
    get { source.isCancelled }
    set { source.isCancelled = newValue }
  }
  package let encoding: TextEncoding
  /// The encoding that the user named, if the byte-order mark, or the order of UTF-16's bytes, says another.
  package let overruled: TextEncoding?
  /// Whether the input begins with a byte-order mark.
  package let hasMark: Bool

  private let source: any ByteSource
  /// The guessed encoding in use; nil when guesses were not requested, or none was needed.
  package let guess: EncodingGuess?
  /// The original bytes of an input that the system decodes; nil for all others.
  let original: SystemText?
  private var transcoder: Transcoder
  private var input: [UInt8] = []
  /// Bytes that were read to find the mark or to guess; they are returned first.
  private var head: [UInt8]
  private var output: [UInt8] = []
  private var taken = 0
  private var atEnd = false
  private static let readBytes = 1 << 16

  /// An input from its first byte on.
  ///
  /// - Parameters:
  ///   - given: the encoding that the user named; a byte-order mark takes precedence, and so does the order
  ///     of the bytes of UTF-16 without one.
  ///   - guesses: whether to guess the encoding when neither names it and the input is not UTF-8.
  /// - Throws: `ImportError.unsupportedEncoding` for UTF-32, and for plain text that is said to be UTF-16;
  ///   `.invalidOption` for an encoding that the system no longer knows; the errors of reading.
  package init(
    detecting source: any ByteSource, given: TextEncoding?, guesses: Bool = false
  ) throws(ImportError) {
    var head: [UInt8] = []
    try Self.read(source, upTo: 4, into: &head)
    let marked = try Self.mark(head, path: source.name)
    if guesses, marked == nil, given == nil {
      try Self.read(source, upTo: Self.readBytes, into: &head)
      guess = EncodingGuess.ofInput(head, isWhole: head.count < Self.readBytes)
    } else {
      guess = nil
    }
    var shown = marked
    if marked == nil, given == .utf16LE || given == .utf16BE {
      try Self.read(source, upTo: Self.readBytes, into: &head)
      try Self.refusePlain(head, path: source.name)
      // Whoever says UTF-16 may not know the order.
      shown = EncodingGuess.unmarked(head)
    }
    encoding = shown ?? given ?? guess?.encoding ?? .utf8
    original = encoding.form == .system ? try SystemText(encoding) : nil
    overruled = shown != nil && shown != given ? given : nil
    hasMark = marked != nil
    transcoder = Transcoder(encoding)
    self.head = head
    self.source = source
  }

  /// An input of a known encoding. The caller seeks before reading, or reads from the input's start.
  package init(_ source: any ByteSource, encoding: TextEncoding) throws(ImportError) {
    original = encoding.form == .system ? try SystemText(encoding) : nil
    guess = nil
    self.source = source
    self.encoding = encoding
    overruled = nil
    hasMark = false
    transcoder = Transcoder(encoding)
    head = []
  }

  private static func mark(_ head: [UInt8], path: String) throws(ImportError) -> TextEncoding? {
    if head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) {
      throw .unsupportedEncoding(
        path: path,
        reason: "it begins with a UTF-32 byte-order mark; convert it first, for example with "
          + "'iconv -f UTF-32 -t UTF-8'")
    }
    if head.starts(with: [0xEF, 0xBB, 0xBF]) { return .utf8 }
    if head.starts(with: [0xFF, 0xFE]) { return .utf16LE }
    if head.starts(with: [0xFE, 0xFF]) { return .utf16BE }
    return nil
  }

  /// Refuses text of one byte a character, which would be a single Chinese word as UTF-16, in which every
  /// line end and comma has a NUL byte.
  private static func refusePlain(_ head: [UInt8], path: String) throws(ImportError) {
    guard head.contains(0x0A) || head.contains(0x0D), !head.contains(0) else { return }
    throw .unsupportedEncoding(
      path: path,
      reason:
        "its lines are not those of UTF-16, in which every line end has a NUL byte: leave --encoding out, "
        + "or name another one")
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    if encoding == .utf8 {
      if head.isEmpty { return try source.read(into: buffer) }
      let count = min(head.count, buffer.count)
      buffer.copyBytes(from: head[..<count])
      head.removeFirst(count)
      return count
    }
    while taken == output.count, !atEnd { try decode() }
    let count = min(buffer.count, output.count - taken)
    buffer.copyBytes(from: output[taken..<taken + count])
    taken += count
    return count
  }

  private func decode() throws(ImportError) {
    output.removeAll(keepingCapacity: true)
    taken = 0
    if !head.isEmpty {
      head.withUnsafeBytes { decode($0, isLast: false) }
      head = []
      return
    }
    if input.isEmpty { input = [UInt8](repeating: 0, count: Self.readBytes) }
    let count = try Self.read(source, into: &input)
    atEnd = count == 0
    input.withUnsafeBytes { bytes in
      decode(UnsafeRawBufferPointer(rebasing: bytes[..<count]), isLast: atEnd)
    }
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    if let original {
      original.decode(bytes, isLast: isLast, to: &output)
    } else {
      transcoder.decode(bytes, isLast: isLast, to: &output)
    }
  }

  /// Reads until there are this many bytes, or the input ends.
  private static func read(
    _ source: any ByteSource, upTo count: Int, into head: inout [UInt8]
  ) throws(ImportError) {
    while head.count < count {
      var buffer = [UInt8](repeating: 0, count: count - head.count)
      let read = try read(source, into: &buffer)
      if read == 0 { return }
      head += buffer[..<read]
    }
  }

  private static func read(_ source: any ByteSource, into bytes: inout [UInt8]) throws(ImportError)
    -> Int
  {
    let outcome: Result<Int, ImportError> = bytes.withUnsafeMutableBytes { buffer in
      do throws(ImportError) {
        return .success(try source.read(into: buffer))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  package var positioned: (any PositionedSource)? {
    encoding == .utf8 && head.isEmpty ? source.positioned : nil
  }

  package func seek(to offset: Int) throws(ImportError) {
    try source.seek(to: offset)
    transcoder = Transcoder(encoding)
    original?.reset()
    head = []
    output = []
    taken = 0
    atEnd = false
  }
}
