import Base

/// The numbers that rolled-back transactions have assigned to objects and tables. They are not assigned
/// again: the file does not record them, but a program may have kept an object's key.
///
/// All handles of a process on one database share one instance while one of them is open. Numbers of
/// rolled-back transactions of other processes are not known.
///
/// Thread rule: any thread.
final class GivenNumbers: @unchecked Sendable {
  // @unchecked: guarded by `lock`.

  /// A database, and the lock file through which its handles find each other.
  struct Scope: Hashable {
    let database: DatabaseIdentity
    let lockFile: FileIdentity
  }

  private struct Known {
    weak var numbers: GivenNumbers?
  }

  private static let all = Lock()
  nonisolated(unsafe) private static var known: [Scope: Known] = [:]  // guarded by `all`

  private let lock = Lock()
  private var nextTable: UInt32 = 0
  /// By the number of the table.
  private(set) var nextKeys: [UInt32: Int64] = [:]

  /// The object shared by all handles on a database.
  static func shared(_ place: Scope) -> GivenNumbers {
    all.withLock {
      if let numbers = known[place]?.numbers { return numbers }
      known = known.filter { $0.value.numbers != nil }
      let numbers = GivenNumbers()
      known[place] = Known(numbers: numbers)
      return numbers
    }
  }

  /// The key of a table's next object, where the file says `key`.
  func nextKey(of table: UInt32, from key: Int64) -> Int64 {
    lock.withLock { max(key, nextKeys[table] ?? 0) }
  }

  /// The number of the next table, where the file says `number`.
  func nextTable(from number: UInt32) -> UInt32 { lock.withLock { max(number, nextTable) } }

  /// Records the numbers that a rolled-back transaction has assigned.
  ///
  /// - Parameters:
  ///   - nextTable: the number of the next table that it would have created.
  ///   - nextKeys: for tables of the file, by number: the key after the last one that it assigned.
  ///   - tables: returns the numbers of all tables of the file; called rarely. Records of other tables are
  ///     removed, since their numbers are not used again.
  func add(nextTable: UInt32, nextKeys: [(table: UInt32, key: Int64)], tables: () -> Set<UInt32>) {
    lock.withLock {
      self.nextTable = max(self.nextTable, nextTable)
      for (table, key) in nextKeys { self.nextKeys[table] = max(self.nextKeys[table] ?? 0, key) }
      guard self.nextKeys.count >= leastPruned else { return }
      let tables = tables()
      self.nextKeys = self.nextKeys.filter { tables.contains($0.key) }
      leastPruned = 2 * self.nextKeys.count + 64
    }
  }

  /// The number of recorded tables at which those that no longer exist are removed.
  private var leastPruned = 64
}
