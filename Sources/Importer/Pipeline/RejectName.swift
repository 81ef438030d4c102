import Base
import Engine

/// The names that an import's rejects may go to: `x.rejects.csv`, `x.rejects.2.csv`, and so on, each with its
/// reasons beside it.
///
/// What has such a name already is another import's, or not ours at all: a new file takes the first
/// number that is free.
struct RejectName: Hashable, Sendable {
  /// The first of the names.
  let base: String
  /// Whether a person chose it.
  let isGiven: Bool

  private static let most = 100_000

  static func reasonsPath(_ path: String) -> String { path + ".reasons.jsonl" }

  /// - Parameter number: from 1.
  func path(_ number: Int) -> String {
    if number <= 1 { return base }
    let folder = base.utf8.lastIndex(of: 0x2F).map { base.index(after: $0) } ?? base.startIndex
    let point = base.utf8[folder...].lastIndex(of: UInt8(ascii: ".")) ?? base.endIndex
    return "\(base[..<point]).\(number)\(base[point...])"
  }

  /// The first number from `first` on that nobody has.
  ///
  /// - Throws: `SystemError`; `ImportError.cannotCreate` when all are taken.
  func free(from first: Int = 1, except isTaken: (Int) -> Bool) throws -> Int {
    for number in max(1, first)...Self.most where !isTaken(number) {
      if try isFree(path(number)), try isFree(Self.reasonsPath(path(number))) { return number }
      if number == 1, isGiven, try isEmptyFile(base) { return number }
    }
    throw ImportError.cannotCreate(
      path: base, reason: "it and \(Self.most - 1) more rejects files are there; move them away")
  }

  private func isFree(_ path: String) throws -> Bool { try System.linkStatus(path: path) == nil }

  /// A file that a person made for the rejects, as `mktemp` does, holds nothing to lose.
  private func isEmptyFile(_ path: String) throws -> Bool {
    guard let status = try System.linkStatus(path: path) else { return false }
    return try status.isRegular && status.size == 0 && isFree(Self.reasonsPath(path))
  }

  /// Refuses a name that a person chose when what has it is no rejects file of an import.
  ///
  /// - Throws: `ImportError.cannotCreate`, `SystemError`.
  func refuseForeign() throws {
    guard isGiven, let status = try System.linkStatus(path: base) else { return }
    guard status.isRegular else {
      throw ImportError.cannotCreate(
        path: base, reason: "rejected records go to a file, and this is none")
    }
    if try status.size == 0 || hasReasons() { return }
    throw ImportError.cannotCreate(
      path: base, reason: "it is there already, and holds no rejected records")
  }

  /// What tells a rejects file: the reasons beside it.
  private func hasReasons() throws(SystemError) -> Bool {
    let path = Self.reasonsPath(base)
    guard let status = try System.linkStatus(path: path), status.isRegular else { return false }
    let beginning = try CompanionFile.beginning(of: path, count: RejectLog.mark.count)
    return beginning.isEmpty || beginning == RejectLog.mark
  }
}

/// How far an import's rejects reach, in which of its files.
struct RejectPlace: Sendable, Equatable {
  /// Of the name; 0: none is chosen.
  var number = 0
  /// Length of the records' file.
  var records = 0
  /// Length of the reasons' file.
  var reasons = 0
  /// Of both files up to there.
  var checksum: UInt64 = 0
}
