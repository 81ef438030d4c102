// What the type checker refuses: each line that ends in "refused: words" must give an error with these
// words, and no other line any error. scripts/compile-errors compiles this file; it belongs to no
// target.

import Dispatch
import Engine

// Objects of a session cannot be sent to another thread.

func sendSession(_ session: Session, _ worker: SessionThread) throws {
  try worker.async { _ in print(session) }  // refused: Session
  DispatchQueue.global().async { _ = try? session.version }  // refused: Session
}

func sendObject(_ object: Object, _ worker: SessionThread) throws {
  try worker.async { _ in print(object) }  // refused: Object
}

func sendResults(_ results: Results, _ database: Database) {
  database.asyncRead({ _ in try results.count }, completion: { _ in })  // refused: Results
}

func sendList(_ list: LiveObjects, _ worker: SessionThread) throws {
  try worker.async { _ in print(list.count) }  // refused: LiveObjects
}

func sendToken(_ token: NotificationToken, _ worker: SessionThread) throws {
  try worker.async { _ in token.stop() }  // refused: NotificationToken
}

func sendTransaction(_ database: Database, _ worker: SessionThread) throws {
  let transaction = try database.beginWrite()
  try worker.async { _ in _ = try? transaction.table("apps") }  // refused: WriteTransaction
}

func returnSession(_ worker: SessionThread) async throws {
  _ = try await worker.perform { session in session }  // refused: Session
}

func returnResults(_ queue: SessionQueue) throws {
  _ = try queue.perform { session in try session.objects("apps") }  // refused: Results
}

struct Travelling: Sendable {
  let object: Object  // refused: Object
}

// Values that may be sent: no errors.

func send(
  _ frozen: FrozenResults, _ object: FrozenObject, _ snapshot: Snapshot,
  _ reference: ThreadSafeReference<Results>, _ worker: SessionThread
) throws {
  try worker.async { session in
    print((try? frozen.count) ?? 0, object.key, snapshot.version)
    print((try? session.resolve(reference)?.count) ?? 0)
  }
}

// Frozen objects cannot be written, changed or observed.

func writeFrozen(_ snapshot: Snapshot) {
  snapshot.write {}  // refused: never changes
  snapshot.observe { _ in }  // refused: observe on a session
  snapshot.refresh()  // refused: never changes
}

func changeFrozen(_ object: FrozenObject, _ results: FrozenResults) {
  object.set("App", to: .null)  // refused: thaw(in:)
  object.delete()  // refused: thaw(in:)
  object.observe { _ in }  // refused: thaw(in:)
  results.setAll([:])  // refused: thaw(in:)
  results.observe { _ in }  // refused: thaw(in:)
}

func changeSnapshot(_ table: Table) throws {
  try table.delete(1)  // refused: no member 'delete'
}
