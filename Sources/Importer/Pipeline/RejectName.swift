import Base
import Engine

/// The names for an import's rejects: `x.rejects.csv`, `x.rejects.2.csv`, and so on, each with its reasons
/// beside it.
///
/// An existing file with such a name belongs to another import, or is not a rejects file: a new file gets the
/// first free number.
struct RejectName: Hashable, Sendable {
  /// The first of the names.
  let base: String
  /// True when the user chose it.
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

  /// The first free number that is not less than `first`.
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

  private func isFree(_ path: String) throws -> Bool { try Self.status(path) == nil }

  /// The status of a file of rejects; nil when there is none, or no file can have so long a name.
  static func status(_ path: String) throws(SystemError) -> FileStatus? {
    do throws(SystemError) {
      return try System.linkStatus(path: path)
    } catch {
      if error.isNameTooLong { return nil }
      throw error
    }
  }

  /// True when rejects cannot go there by a name that the user did not choose. Most imports have none.
  func isTooLong() throws(SystemError) -> Bool {
    if isGiven { return false }
    do throws(SystemError) {
      _ = try System.linkStatus(path: Self.reasonsPath(base))
      return false
    } catch {
      if error.isNameTooLong { return true }
      throw error
    }
  }

  /// Returns whether the user has created an empty file for the rejects, as `mktemp` does, which may be
  /// overwritten.
  private func isEmptyFile(_ path: String) throws -> Bool {
    guard let status = try System.linkStatus(path: path) else { return false }
    return try status.isRegular && status.size == 0 && isFree(Self.reasonsPath(path))
  }

  /// Refuses a name chosen by the user if a file has it that is not a rejects file.
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

  /// Returns whether there are reasons beside a file, by which a rejects file is recognized.
  private func hasReasons() throws(SystemError) -> Bool {
    let path = Self.reasonsPath(base)
    guard let status = try System.linkStatus(path: path), status.isRegular else { return false }
    let beginning = try CompanionFile.beginning(of: path, count: RejectLog.mark.count)
    return beginning.isEmpty || beginning == RejectLog.mark
  }
}

/// The file with an import's rejects, and their end in it.
struct RejectPlace: Sendable, Equatable {
  /// The number in the name; 0 when none is chosen.
  var number = 0
  /// The length of the file of records.
  var records = 0
  /// The length of the file of reasons.
  var reasons = 0
  /// The checksum of both files up to these lengths.
  var checksum: UInt64 = 0
}
