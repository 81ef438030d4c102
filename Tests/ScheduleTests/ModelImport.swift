import Base
import Engine
import Synchronization
import TestSupport

@testable import Importer

/// An import of one input into the model of a server: what each process does, with the importer's own
/// claims, lanes, leases and retries, and what must hold at the end.
final class ModelImport: Sendable {
  static let input = ServerInput(key: "public.t < a.csv", name: "a.csv", size: 9, checksum: "0")
  private static let lease = 1

  let server: ModelServer
  let problems = Problems()
  private let isSynchronous: Bool
  private let retrySeconds: Double
  private let input: ModelInput
  private let ranges: ArraySlice<CopyRange>
  private let told = Mutex<[Ending]>([])

  /// How a process ended.
  enum Ending: Equatable {
    case done
    case fenced
    case hasLost
    /// It waited in vain.
    case gaveUp
    case killed
  }

  init(
    isSynchronous: Bool, _ input: ModelInput = .plain, ranges: Int = 2, retrySeconds: Double = 100
  ) throws {
    self.isSynchronous = isSynchronous
    self.retrySeconds = retrySeconds
    self.input = input
    self.ranges = try input.ranges.get()[..<ranges]
    server = ModelServer(
      table: "t", keys: input.policy.map { _ in ["text"] }, earlier: input.earlier,
      refused: input.refused)
  }

  // MARK: Processes

  /// How processes have ended so far.
  var endings: [Ending] { told.withLock(\.self) }

  /// A process: it claims the input and loads what is missing, or waits until another has.
  func process(_ client: ModelClient, lanes: Int = 2) {
    do {
      let ending = try load(client, lanes: lanes)
      told.withLock { $0.append(ending) }
    } catch {
      problems.note("\(client.owner): \(error)")
    }
  }

  private func load(_ client: ModelClient, lanes: Int) throws -> Ending {
    let access = ModelAccess(server: server, client: client)
    let session = ServerSession(
      access, retrySeconds: retrySeconds, hasConnected: true, isStopping: { false },
      isAbandoned: { false })
    defer { session.close() }
    let claims = InputClaims(
      CheckpointTables(schema: "public"), ServerEngine(kind: .postgreSQL), target: "public.t",
      owner: client.owner,
      batchRecords: input.rangeRecords, leaseSeconds: Self.lease, session)
    do {
      while true {
        switch try claims.claim(Self.input) {
        case .done: return .done
        case .leased: System.sleep(milliseconds: UInt32(1100 * Self.lease))
        case .claimed(let claim):
          try load(claim, claims, access, lanes)
          return .done
        }
      }
    } catch let error as ServerError {
      if error.kind == .interrupted, client.isDead { return .killed }
      if error.description.contains("has gone on with") { return .fenced }
      if error.description.contains("has lost"), !isSynchronous { return .hasLost }
      if error.isDisconnected || ["55P03", "57P01"].contains(error.sqlState) { return .gaveUp }
      throw error
    }
  }

  /// The same as `InputLoad`.
  private func load(
    _ claim: InputClaim, _ claims: InputClaims, _ access: ModelAccess, _ lanes: Int
  ) throws {
    let plan = LoadPlan(
      target: access, engine: ServerEngine(kind: .postgreSQL), tables: claims.tables, table: "t",
      tableName: "t",
      columns: input.columns, input: claim.input.key, epoch: claim.epoch,
      isSynchronous: isSynchronous, retrySeconds: retrySeconds,
      keys: input.policy.map {
        KeyedTable(
          keys: ["text"], policy: $0,
          changed: $0 == .replace ? input.tableColumns : input.columns, overridesIdentity: false,
          hasRowTriggers: false)
      })
    try claims.settle(options: LoadDigest(whole: "o", given: nil), claim)
    let work = try ClaimedLoad(
      plan, claim, claims, lanes: input.policy == nil ? lanes : 1,
      RejectBudget(.count(input.outcome(ranges.count).rejected.count), rejected: 0))
    defer { work.stop() }
    do {
      for (number, range) in ranges.enumerated().dropFirst(claim.prefixCount) {
        if number == ranges.count - 1 { try work.checkEnd(range) }
        _ = try work.submit(range, shouldStop: { false })
      }
    } catch {
      _ = try? work.finish(shouldStop: { false })
      throw error
    }
    try work.finish(shouldStop: { false })
    try work.end(at: (byte: ranges.last?.byteEnd ?? 0, checksum: ranges.last?.checksum ?? 0))
  }

  // MARK: The end

  /// What is wrong when all have ended; nil if each record is there once, or will be once a process
  /// resumes.
  func problem() -> String? {
    if let problem = problems.first ?? server.firstProblem { return problem }
    // A load that was reported done stays, whatever happens then.
    if endings.contains(.done) {
      server.crash()
      if let missing = missing { return "said to be done: \(missing)" }
    }
    server.passTime()
    process(ModelClient("last"))
    if let problem = problems.first ?? server.firstProblem { return problem }
    guard endings.last == .done else { return "going on ends with \(endings)" }
    server.crash()
    return missing ?? server.firstProblem
  }

  private var missing: String? {
    let found = server.committed.rows("t").map { _, row in
      input.tableColumns.map { row[$0]?.field ?? "" }
    }
    let expected = input.outcome(ranges.count)
    if found.sorted(by: ModelInput.isLess) != expected.rows.sorted(by: ModelInput.isLess) {
      return "the table has \(found)"
    }
    let rejected = server.committed.rows("sheaf_reject").map { $0.row["record"] ?? .null }
    guard rejected.count == expected.rejected.count,
      Set(rejected) == Set(expected.rejected.map(ModelValue.int))
    else { return "\(rejected) are rejected" }
    let inputs = server.committed.rows("sheaf_input").map(\.row)
    guard inputs.count == 1, inputs[0]["done"] == .bool(true),
      inputs[0].filter({ expected.counts[$0.key] != nil }) == expected.counts
    else { return "the input is \(inputs), not \(expected.counts)" }
    return server.committed.rows("sheaf_range").isEmpty ? nil : "ranges are left"
  }
}
