import Base
import Engine

/// Opens the database and takes its job lock, after waiting for others.
extension ImportRun {
  /// Opens the database for writing. The wait for the first transaction's turn counts as part of opening.
  func open(_ waiting: Waiting) throws -> Database {
    var settings = options.engine
    settings.waiting = waiting
    do {
      let database = try Database.open(options.database, options: settings)
      database.turnWaiting = waiting
      return database
    } catch EngineError.cancelled {
      throw ImportError.interrupted
    }
  }

  /// Refuses to begin a database in the place of another one's lock file or copy.
  func checkPlace() throws {
    guard origin == nil, let reason = try Database.refusal(ofOutput: options.database) else {
      return
    }
    throw ImportError.cannotCreate(path: options.database, reason: reason)
  }

  /// Excludes other jobs.
  func lockJob(_ patience: inout Patience) throws -> JobLock {
    do {
      return try JobLock(options.database, creates: origin == nil, &patience)
    } catch JobLock.Refusal.busy {
      throw ImportError.busy(database: options.database, seconds: options.wait)
    } catch JobLock.Refusal.cancelled {
      throw ImportError.interrupted
    } catch let error as JobLock.NoFile {
      throw EngineError.isNoFile(error.path)
    } catch let error as SystemError where error.isMissing {
      try origin?.check()
      throw EngineError.system(error)
    } catch let error as SystemError {
      throw EngineError.system(error)
    }
  }
}
