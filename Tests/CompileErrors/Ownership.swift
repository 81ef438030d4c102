// What the compiler refuses after type checking: as Types.swift, in a file of its own because these
// errors are not looked for in a file that has any of the others.

import Engine

func useAfterCommit(_ database: Database) throws {
  let transaction = try database.beginWrite()  // refused: consumed more than once
  try transaction.commit()
  try transaction.commit()
}

func useAfterRollBack(_ database: Database) throws {
  let transaction = try database.beginWrite()  // refused: used after consume
  transaction.rollBack()
  _ = try transaction.table("apps")
}

func commitWhatIsLent(_ database: Database) throws {
  try database.write { transaction in  // refused: cannot be consumed
    try transaction.commit()
  }
}

func copyOfWhatIsLent(_ database: Database) throws {
  try database.write { transaction in  // refused: cannot be consumed
    let kept = transaction
    try kept.table("apps").deleteAll()
  }
}

// What is right: no errors.

func passOn(_ database: Database) throws {
  func helper(_ transaction: borrowing WriteTransaction) throws {
    try transaction.table("apps").deleteAll()
  }
  try database.write { try helper($0) }
}
