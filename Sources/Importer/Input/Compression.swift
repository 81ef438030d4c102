import Engine

/// A compressed form of an input, read through the system's own program.
package enum Compression: String, Sendable, CaseIterable {
  case gzip
  case zstd
  case bzip2
  case xz

  /// The program, looked up in `PATH`. Debian's and Homebrew's packages of it have the same name, except
  /// `xz-utils`.
  package var program: String { rawValue }

  /// The arguments for reading standard input and writing standard output.
  var arguments: [String] { self == .zstd ? ["-dcq"] : ["-dc"] }

  /// Advice for when the program is missing.
  var advice: String {
    let package = self == .xz ? "xz-utils" : rawValue
    return
      "install it (apt install \(package), brew install \(rawValue)), or decompress the file first"
  }

  var fileExtension: String {
    switch self {
    case .gzip: "gz"
    case .zstd: "zst"
    case .bzip2: "bz2"
    case .xz: "xz"
    }
  }

  /// Whether compressed data begins with these bytes, as no text does.
  private func fits(_ bytes: [UInt8]) -> Bool {
    switch self {
    case .gzip: bytes.starts(with: [0x1F, 0x8B, 0x08])
    case .zstd: bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
    case .xz: bytes.starts(with: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00])
    case .bzip2:
      // `BZh1` to `BZh9`, then a block or the end of the stream.
      bytes.count >= 10 && bytes.starts(with: [0x42, 0x5A, 0x68])
        && (0x31...0x39).contains(bytes[3])
        && (bytes[4..<10].elementsEqual([0x31, 0x41, 0x59, 0x26, 0x53, 0x59])
          || bytes[4..<10].elementsEqual([0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
    }
  }

  /// How many of the first bytes `of` needs.
  static let beginningBytes = 10

  /// How a file is compressed, from its first bytes, or otherwise from its name: a file with such a name that
  /// begins differently is damaged. Nil when it is not compressed.
  static func of(path: String, beginning: [UInt8]) -> Compression? {
    allCases.first { $0.fits(beginning) }
      ?? allCases.first { path.hasSuffix("." + $0.fileExtension) }
  }

  /// The name without the extension of its compression.
  package static func withoutExtension(_ name: String) -> String {
    for compression in allCases where name.hasSuffix("." + compression.fileExtension) {
      let stem = name.dropLast(compression.fileExtension.utf8.count + 1)
      if !stem.isEmpty { return String(stem) }
    }
    return name
  }
}
