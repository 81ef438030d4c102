import Base

@testable import Engine

/// Runs transactions on a recording storage, and notes the contents that each leaves and when they were
/// promised.
final class Journal {
  let storage: RecordingStorage
  private(set) var database: Database
  private(set) var model: Model
  /// The contents of each number, with their digests; number 0 is an empty database.
  private(set) var contents: [(Model, UInt64)]
  let options: Database.Options
  /// The numbers of group commits in the order in which they became durable.
  let completed = Completed()

  final class Completed: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var list: [Int] = []
    var numbers: [Int] { lock.withLock { list } }
    func append(_ number: Int) { lock.withLock { list.append(number) } }
  }

  init(_ storage: RecordingStorage = RecordingStorage(), options: Database.Options = .tiny) throws {
    self.storage = storage
    self.options = options
    model = Model()
    contents = [(model, model.digest)]
    storage.mark(.began(0))
    database = try Database.open(storage: storage, options: options)
    storage.mark(.acknowledged(0))
  }

  /// Continues from what a dead process left, which promises nothing more.
  init(
    reopening storage: RecordingStorage, contents: [(Model, UInt64)],
    options: Database.Options = .tiny
  ) throws {
    self.storage = storage
    self.options = options
    self.contents = contents
    database = try Database.open(storage: storage, options: options)
    model = Model()
    try takeOver()
  }

  /// Another handle on a file that is open elsewhere.
  init(
    through door: any Storage, recorded storage: RecordingStorage, contents: [(Model, UInt64)]
  ) throws {
    self.storage = storage
    self.contents = contents
    options = .tiny
    database = try Database.open(storage: door, options: options)
    model = Model()
    try takeOver()
  }

  /// Continues from what others, alive or dead, have committed.
  ///
  /// - Parameter contents: what they may have committed since this handle opened the file; nil: it has
  ///   just opened it.
  func takeOver(_ contents: [(Model, UInt64)]? = nil) throws {
    if let contents {
      self.contents = contents
      // Beginning to write looks for others' commits.
      try database.beginWrite().rollBack()
    }
    let snapshot = try database.snapshot()
    let found = try Model.digest(snapshot)
    guard let number = self.contents.lastIndex(where: { $0.1 == found }) else {
      throw EngineError.invalidArgument("who takes over finds what nobody has written")
    }
    model = self.contents[number].0
    for name in model.tables.keys {
      model.tables[name]?.nextKey = try snapshot.table(name).nextKey
    }
    storage.mark(.tookOver(number))
  }

  /// The digest of the contents of each number.
  var digests: [UInt64] { contents.map(\.1) }

  /// Commits what `change` does to the database, and does it to the model.
  @discardableResult
  func commit(
    _ durability: Durability,
    _ change: (borrowing WriteTransaction, inout Model) throws -> Void
  ) throws -> Int {
    var next = model
    let transaction = try database.beginWrite()
    try change(transaction, &next)
    let number = contents.count
    contents.append((next, next.digest))
    storage.mark(.began(number))
    switch durability {
    case .full:
      try transaction.commit(durability: .full)
      storage.mark(.acknowledged(number))
    case .group:
      let (storage, completed) = (storage, completed)
      try transaction.commit(durability: .group) { failure in
        if failure == nil {
          storage.mark(.acknowledged(number))
          completed.append(number)
        }
      }
    case .none: try transaction.commit(durability: Durability.none)
    }
    model = next
    return number
  }

  func flush() throws {
    try database.flush()
    storage.mark(.acknowledged(contents.count - 1))
  }

  func trim() throws {
    try database.trim()
    storage.mark(.acknowledged(contents.count - 1))
  }

  /// Changes no contents: any part of it that a cut leaves has the last ones.
  func compactInUse() throws {
    _ = try database.compactInUse(.tiny, waiting: Waiting(seconds: 0))
    storage.mark(.acknowledged(contents.count - 1))
  }

  func close() throws {
    try database.close()
    storage.mark(.acknowledged(contents.count - 1))
  }

  func reopen() throws {
    try close()
    database = try Database.open(storage: storage, options: options)
  }
}
