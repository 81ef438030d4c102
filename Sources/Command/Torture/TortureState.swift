import Base
import Engine

/// The part of the inputs that has been seen in the database, and the parts that may be seen next: always
/// records from an input's beginning, never fewer than before.
struct TortureState {
  private let folder: TortureFolder
  private let plan: TorturePlan
  /// True while the second input is being imported in place of the first.
  var replaces = false
  /// Bytes of the present input that have been seen.
  private var seen = 0
  /// True when a record of the second input has been seen: the first must not come back then.
  private var hasReplaced = false
  /// True when there is a table to read.
  private(set) var isThere = false

  init(_ folder: TortureFolder, _ plan: TorturePlan) {
    self.folder = folder
    self.plan = plan
  }

  static func export(_ folder: TortureFolder, to path: String) -> [String] {
    ["export", folder.database, "--table", "t", "--output", path]
  }

  /// Notes that there is no table.
  func takeNothing(isWhole: Bool) throws(TortureFailure) {
    if isThere || isWhole { throw TortureFailure("the table is gone, and its records with it") }
  }

  /// Compares an export with the inputs.
  ///
  /// - Parameter isWhole: true when all of the present input must be there.
  mutating func take(_ path: String, isWhole: Bool) throws {
    isThere = true
    let length = try System.status(path: path).size
    if replaces, !hasReplaced {
      if try !isWhole && commonLength(path, folder.input) == length,
        length == (try System.status(path: folder.input).size)
      {
        return
      }
      hasReplaced = true
      seen = 0
    }
    let input = replaces ? folder.second : folder.input
    let total = try System.status(path: input).size
    let common = try commonLength(path, input)
    guard common == length else {
      throw TortureFailure(
        "\(path) differs from \(input) from byte \(common) on: records are lost or changed")
    }
    guard length >= seen else {
      throw TortureFailure(
        "\(path) ends at byte \(length), and \(seen) had been seen: committed records are lost")
    }
    let mustBeAll = isWhole || (plan.isOneTransaction && replaces)
    guard length == total || !mustBeAll else {
      throw TortureFailure(
        "\(path) ends at byte \(length) of the \(total) of \(input): records are missing")
    }
    if !isWhole, length > 0, try byte(length - 1, of: path) != UInt8(ascii: "\n") {
      throw TortureFailure("\(path) ends in the middle of a record")
    }
    seen = length
  }

  private func byte(_ offset: Int, of path: String) throws -> UInt8 {
    var bytes: [UInt8] = [0]
    let descriptor = try System.openRegular(path, writable: false)
    defer { System.close(descriptor) }
    _ = try bytes.withUnsafeMutableBytes {
      try System.read(descriptor, at: offset, into: $0, path: path)
    }
    return bytes[0]
  }

  /// The length of the longest common beginning of two files, in bytes.
  private func commonLength(_ first: String, _ second: String) throws -> Int {
    let files = [
      try System.openRegular(first, writable: false),
      try System.openRegular(second, writable: false),
    ]
    defer { for file in files { System.close(file) } }
    var pieces = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1 << 18), count: 2)
    var offset = 0
    while true {
      var counts = [0, 0]
      for (index, path) in [first, second].enumerated() {
        counts[index] = try pieces[index].withUnsafeMutableBytes {
          try System.read(files[index], at: offset, into: $0, path: path)
        }
      }
      let common = pieces[0].withUnsafeBytes { first in
        pieces[1].withUnsafeBytes { second in
          UnsafeRawBufferPointer(rebasing: first.prefix(counts[0]))
            .commonPrefixLength(with: UnsafeRawBufferPointer(rebasing: second.prefix(counts[1])))
        }
      }
      offset += common
      if common < pieces[0].count { return offset }
    }
  }
}
