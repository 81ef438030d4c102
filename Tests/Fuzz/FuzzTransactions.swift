import TestSupport

@testable import Engine

/// Transactions, some of which fail at any operation of the storage, compared with a model: what was
/// committed is there to the letter, what failed is gone, and a held version stays the same.
///
/// The input: a byte for the options, then rounds: how each one ends, where its storage fails, and two
/// bytes for each change.
@c(LLVMFuzzerTestOneInput)
public func fuzzTransactions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  do {
    let history = try History(options: input.byte())
    var rounds = 0
    while !input.isEmpty, rounds < 16 {
      try history.round(&input)
      rounds += 1
    }
    try history.end()
  } catch {
    found("\(error)")
  }
  return 0
}

private final class History {
  private var storage = FailingStorage(RecordingStorage(isRecording: false))
  private let options: Database.Options
  private var database: Database
  private var changes = RandomChanges(seed: 1)
  private var model = Model()
  /// The contents that the file may have: the last promised ones, and those after them.
  private var possible: [Model] = []
  private var held: [(snapshot: Snapshot, digest: UInt64)] = []

  init(options choice: UInt8) throws {
    var options = Database.Options.tiny
    options.limits.openClusters = choice & 1 == 0 ? 1 : 3
    if choice & 2 != 0 { options.limits.overlayFrom = 4096 }
    if choice & 4 != 0 { options.limits.openOverlayBytes = 100 }
    self.options = options
    database = try Database.open(storage: storage, options: options)
    let database = database
    try database.write { transaction in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      for name in ["all", "few", "keyed"] {
        try changes.insert(8, into: name, transaction, &model)
      }
    }
    possible = [model]
  }

  /// One transaction, and what follows it.
  func round(_ input: inout FuzzInput) throws {
    let ending = input.byte()
    var next = model
    if ending & 1 != 0 {
      let number = Int(input.byte())
      storage.fail(
        after: number, code: number & 1 == 0 ? 28 : 5,
        kinds: ending & 2 != 0 ? FailingStorage.Kind.all : FailingStorage.Kind.changes)
    } else {
      // No failure is due any more.
      storage.fail(after: .max / 2, code: 5)
    }
    do {
      let transaction = try database.beginWrite()
      var hasFailed = false
      for _ in 0...Int(input.byte() % 6) {
        changes.random = SplitMix64(seed: input.number())
        var attempt = next
        do {
          try changes.any(transaction, &attempt)
          if !hasFailed { next = attempt }
        } catch let error as EngineError {
          if storage.failure == nil { found("a change threw \(error)") }
          hasFailed = true
        }
      }
      if ending & 4 != 0 {
        transaction.rollBack()
      } else {
        do {
          possible.append(next)
          try transaction.commit(durability: ending & 8 == 0 ? .full : Durability.none)
          if hasFailed { found("a failed transaction was committed") }
          model = next
          if ending & 8 == 0 { possible = [model] }
        } catch EngineError.transactionFailed(let cause) {
          if !hasFailed { found("a transaction that has not failed threw: \(cause)") }
        }
      }
    } catch EngineError.poisoned {
      try reopenAfterFailure()
    } catch let error as EngineError {
      if storage.failure == nil { found("\(error)") }
    }
    storage.recover()
    do {
      try between(ending)
      try verify()
    } catch EngineError.poisoned {
      try reopenAfterFailure()
      try verify()
    }
  }

  /// The slot may be on the disk or not: reopening the file shows which.
  private func reopenAfterFailure() throws {
    let content = (storage.inner as? RecordingStorage)?.content ?? []
    try compareHeld()
    held = []
    storage = FailingStorage(RecordingStorage(content, isRecording: false))
    database = try Database.open(storage: storage, options: options)
    let snapshot = try database.snapshot()
    guard let last = try possible.last(where: { try $0.difference(snapshot) == nil }) else {
      found("the file holds nothing that it may: \(try model.difference(snapshot) ?? "")")
    }
    model = last
    possible = [last]
  }

  private func between(_ ending: UInt8) throws {
    switch ending >> 4 & 7 {
    case 1:
      let snapshot = try database.snapshot()
      held.append((snapshot, try Model.digest(snapshot)))
    case 2: if !held.isEmpty { held.removeFirst() }
    case 3:
      try database.flush()
      possible = [model]
    case 4: try database.trim()
    case 5:
      try compareHeld()
      held = []
      try database.close()
      possible = [model]
      database = try Database.open(storage: storage, options: options)
    default: break
    }
  }

  private func verify() throws {
    try model.learnNextKeys(database)
    let problems = try database.check().problems
    if !problems.isEmpty { found("\(problems.prefix(3))") }
    if let difference = try model.difference(database.snapshot()) { found(difference) }
    try compareHeld()
  }

  private func compareHeld() throws {
    for (snapshot, digest) in held where try Model.digest(snapshot) != digest {
      found("the held version \(snapshot.version) has changed")
    }
  }

  func end() throws {
    held = []
    do {
      try database.close()
      database = try Database.open(storage: storage, options: options)
    } catch EngineError.poisoned {
      try reopenAfterFailure()
    }
    if let difference = try model.difference(database.snapshot()) { found(difference) }
  }
}
