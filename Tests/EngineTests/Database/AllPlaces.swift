@testable import Engine

/// Takes all slots for held versions until it is released.
final class AllPlaces {
  private let database: Database
  private let slots: [Int]
  var count: Int { slots.count }

  init(of database: Database) throws {
    self.database = database
    let newest = try database.snapshot().record
    var slots: [Int] = []
    while let (slot, _) = try? database.coordination.hold({ newest }) { slots.append(slot) }
    self.slots = slots
  }

  deinit { for slot in slots { database.coordination.release(slot) } }
}
