import Base

/// Runs `body`, and throws its errors as `EngineError`; the caller's own errors pass unchanged.
package func translatingErrors<Result>(
  _ path: @autoclosure () -> String, _ body: () throws -> Result
) throws -> Result {
  do {
    return try body()
  } catch let error as SystemError {
    throw EngineError.system(error)
  } catch let error as BlockError {
    if let system = error.system { throw EngineError.system(system) }
    throw EngineError.damaged(
      path: error.path, where: "block at offset \(error.offset), length \(error.length)",
      reason: error.what)
  } catch let error as DecodingFailure {
    throw EngineError.damaged(path: path(), where: "byte \(error.offset)", reason: error.what)
  } catch ClusterError.tooLarge(let bytes) {
    throw EngineError.tooLarge(what: "\(bytes) bytes of neighbouring values", limit: "4 GiB")
  } catch let error as ClusterError {
    throw EngineError.damaged(path: path(), where: "a cluster", reason: "\(error)")
  } catch let error as ObstructionError {
    throw EngineError.obstructed(path: path(), reason: "\(error)")
  } catch let error as CoordinationError {
    throw EngineError.busy(path: path(), reason: "\(error)")
  }
}
