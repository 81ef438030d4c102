/// An input without its last lines.
///
/// Holds bytes back until it is known that this many lines follow them, so pipes work too.
///
/// Thread rule: see `ByteSource`.
final class FooterlessSource: ByteSource, @unchecked Sendable {
  // @unchecked: only the one reading thread touches it; see `ByteSource`.

  /// The maximum number of bytes that the held lines may have.
  static let maximumBytes = 64 << 20

  private let source: any ByteSource
  private let lines: Int
  /// The buffer for one read.
  private var buffer = [UInt8](repeating: 0, count: 1 << 18)
  /// The bytes from index `place` on have been read and not returned.
  private var held: [UInt8] = []
  private var place = 0
  private var atEnd = false
  /// Bytes before this index of `held` may be returned.
  private var releasable = 0
  /// The number of held bytes at which they are examined next: twice as many as were left, so that a long
  /// footer is not searched again for each read of a pipe.
  private var nextLook = 0

  var name: String { source.name }
  var identity: InputIdentity? { source.identity }
  var change: String? { source.change }
  var isCancelled: @Sendable () -> Bool {
    get { source.isCancelled }
    set { source.isCancelled = newValue }
  }

  /// - Parameter lines: the number of lines to leave out at the end, at least 1.
  init(_ source: any ByteSource, lines: Int) {
    self.source = source
    self.lines = lines
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    while place == releasable, !atEnd { try readOn() }
    let count = min(buffer.count, releasable - place)
    guard count > 0 else { return 0 }
    buffer.copyBytes(from: held[place..<place + count])
    place += count
    return count
  }

  private func readOn() throws(ImportError) {
    held.removeFirst(place)
    releasable -= place
    place = 0
    guard held.count < Self.maximumBytes else {
      throw .invalidOption(
        "the last \(lines) lines of \(name) have more than \(Self.maximumBytes >> 20) MiB: --skip-footer is "
          + "for a few short ones")
    }
    var failure: ImportError?
    var count = 0
    buffer.withUnsafeMutableBytes { bytes in
      do throws(ImportError) {
        count = try source.read(into: bytes)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    held += buffer[..<count]
    atEnd = count == 0
    guard atEnd || held.count >= nextLook else { return }
    releasable = footerStart()
    nextLook = min(2 * (held.count - releasable), Self.maximumBytes)
  }

  /// The beginning of the last lines among the held bytes.
  private func footerStart() -> Int {
    // The next bytes may be a line of their own, and a line feed may be the second half of a line end.
    // Counted up: the number that was given may be the greatest.
    var passed = atEnd ? 0 : -1
    var index = held.count
    if atEnd, index > 0 { index -= lineEndLength(before: index) }
    while index > 0 {
      let length = lineEndLength(before: index)
      if length > 0 {
        passed += 1
        if passed == lines { return index }
        index -= length
      } else {
        index -= 1
      }
    }
    return 0
  }

  private func lineEndLength(before index: Int) -> Int {
    switch held[index - 1] {
    case 0x0D: 1
    case 0x0A: index > 1 && held[index - 2] == 0x0D ? 2 : 1
    default: 0
    }
  }

  func seek(to offset: Int) throws(ImportError) {
    try source.seek(to: offset)
    held = []
    place = 0
    releasable = 0
    nextLook = 0
    atEnd = false
  }
}

extension ByteSource {
  /// The same input without its last lines.
  func withoutFooter(lines: Int) -> any ByteSource {
    lines > 0 ? FooterlessSource(self, lines: lines) : self
  }
}
