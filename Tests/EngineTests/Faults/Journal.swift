@testable import Engine

/// Runs transactions on a recording storage and notes what each would leave, what was promised when.
final class Journal {
  let storage: RecordingStorage
  private(set) var database: Database
  private(set) var model: Model
  /// The digest of the contents of each number; number 0 is an empty database.
  private(set) var digests: [UInt64]
  let options: Database.Options
  /// The numbers of group commits, in the order in which they were said to be durable.
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
    digests = [model.digest]
    storage.mark(.began(0))
    database = try Database.open(storage: storage, options: options)
    storage.mark(.acknowledged(0))
  }

  /// Goes on with what another process left when it died; nothing more is promised by that.
  init(reopening storage: RecordingStorage, contents: [(Model, UInt64)], options: Database.Options)
    throws
  {
    self.storage = storage
    self.options = options
    digests = contents.map(\.1)
    database = try Database.open(storage: storage, options: options)
    let found = try Model.digest(database.snapshot())
    model = contents.first { $0.1 == found }?.0 ?? Model()
  }

  /// Commits what `change` does to the database and to the model.
  @discardableResult
  func commit(
    _ durability: Durability,
    _ change: (borrowing WriteTransaction, inout Model) throws -> Void
  ) throws -> Int {
    var next = model
    let transaction = try database.beginWrite()
    try change(transaction, &next)
    let number = digests.count
    digests.append(next.digest)
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
    storage.mark(.acknowledged(digests.count - 1))
  }

  func trim() throws {
    try database.trim()
    storage.mark(.acknowledged(digests.count - 1))
  }

  func close() throws {
    try database.close()
    storage.mark(.acknowledged(digests.count - 1))
  }

  func reopen() throws {
    try close()
    database = try Database.open(storage: storage, options: options)
  }
}

extension Database.Options {
  /// Nodes and clusters so small that a few rows make a deep tree.
  static var tiny: Database.Options {
    var options = Database.Options()
    options.limits.nodeCapacity = 4
    options.limits.clusterRows = 8
    options.limits.tailRows = 4
    options.limits.openClusters = 3
    options.limits.overlayFrom = 0
    options.limits.overlayBytes = 200...400
    options.limits.overlayShare = 2
    options.limits.openOverlayBytes = 4000
    options.indexLimits = .tiny
    return options
  }
}

extension IndexLimits {
  /// Sizes that make runs of many levels from few keys, many of which share a code.
  static var tiny: IndexLimits {
    var limits = IndexLimits()
    limits.leafEntries = 3
    limits.nodeCapacity = 3
    limits.recentEntries = 12
    limits.smallestRun = 2
    limits.smallFanout = 2
    limits.largeFanout = 2
    limits.keyCode = KeyCode(low: 1, high: 2, bits: 5)
    return limits
  }
}
