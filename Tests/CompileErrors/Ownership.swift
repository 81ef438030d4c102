// What the compiler refuses after type checking. These errors have a file of their own because the
// compiler does not look for them in a file with errors of types. See Types.swift.

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

// Correct code: no errors.

func passOn(_ database: Database) throws {
  func helper(_ transaction: borrowing WriteTransaction) throws {
    try transaction.table("apps").deleteAll()
  }
  try database.write { try helper($0) }
}
