import Base
import Engine

/// The bytes of a compressed file, from the system's program in a child process.
///
/// The end is reported only when the program has succeeded: a damaged or truncated archive is an error before
/// its last bytes count as the end. The child ends with this object.
///
/// Thread rule: see `ByteSource`.
package final class DecompressedSource: ByteSource, @unchecked Sendable {
  // @unchecked: only the reading thread uses `position` and `hasEnded`; see `ByteSource`.
  package let name: String
  package var identity: InputIdentity? { nil }
  package var isCancelled: @Sendable () -> Bool = { false }
  package var change: String? { file.change }
  private let file: FileSource
  private let program: String
  private let child: ChildProcess
  private var position = 0
  private var hasEnded = false

  /// - Parameter file: the compressed file, at its first byte.
  /// - Throws: `ImportError.missingProgram`, `.unreadableInput`.
  init(_ file: FileSource, _ compression: Compression) throws(ImportError) {
    let name = file.name
    self.name = name
    self.file = file
    program = compression.program
    do {
      child = try System.start(
        program, compression.arguments, input: file.descriptor, capturesError: true)
    } catch  where error.isMissing {
      throw ImportError.missingProgram(
        path: name, program: compression.program, advice: compression.advice)
    } catch {
      throw ImportError.unreadableInput(
        path: name, reason: "\(compression.program) cannot be run: \(error.reason)")
    }
  }

  deinit {
    System.close(child.output)
    if !hasEnded {
      System.end(child)
      _ = try? System.waitForEnd(of: child)
    }
    if let error = child.error { System.close(error) }
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    if hasEnded || buffer.isEmpty { return 0 }
    while !System.waitForInput(child.output, milliseconds: 100) {
      if isCancelled() { throw .interrupted }
    }
    let count: Int
    do {
      count = try System.read(child.output, into: buffer, path: name)
    } catch {
      throw ImportError.readFailed(path: name, byteOffset: position, reason: error.reason)
    }
    position += count
    if count == 0 { try end() }
    return count
  }

  private func end() throws(ImportError) {
    hasEnded = true
    let ending: ChildEnding
    do {
      ending = try System.waitForEnd(of: child)
    } catch {
      // Without the status it is unknown whether all bytes arrived.
      throw .readFailed(
        path: name, byteOffset: position,
        reason: "how \(program) ended cannot be told: \(error.reason)")
    }
    if let signal = ending.signal {
      throw .readFailed(
        path: name, byteOffset: position, reason: "\(program) was ended by signal \(signal)")
    }
    let messages = messages()
    // One program leaves out what is behind a damaged beginning of a member, and calls that success.
    let leftOut = messages.first { $0.contains("trailing garbage") }
    if ending.status == 0, leftOut == nil { return }
    let said = leftOut ?? messages.first ?? ""
    throw .damagedArchive(
      path: name, byteOffset: position,
      reason: said.isEmpty ? "\(program) ended with status \(ending.status ?? -1)" : said)
  }

  /// The lines of the program's messages.
  private func messages() -> [String] {
    // Another process may have inherited the other end.
    guard let error = child.error, System.waitForInput(error, milliseconds: 0) else { return [] }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = bytes.withUnsafeMutableBytes { buffer in
      (try? System.read(error, into: buffer, path: name)) ?? 0
    }
    return bytes[..<count].split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }

  package func seek(to offset: Int) throws(ImportError) {
    throw ImportError.notSeekable(path: name)
  }
}
