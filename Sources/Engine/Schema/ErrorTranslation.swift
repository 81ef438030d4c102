import Base

/// Runs `body`, and throws its errors as `EngineError`; the caller's own errors pass unchanged.
package func translatingErrors<Result>(
  _ path: @autoclosure () -> String, _ body: () throws -> Result
) throws -> Result {
  do {
    return try body()
  } catch {
    throw translated(error, path())
  }
}

/// The error as `EngineError`, if reading or writing has thrown it; a caller's own error unchanged.
package func translated(_ error: any Error, _ path: @autoclosure () -> String) -> any Error {
  switch error {
  case let error as SystemError:
    return EngineError.system(error)
  case let error as BlockError:
    if let system = error.system { return EngineError.system(system) }
    return EngineError.damaged(
      path: error.path, where: "block at offset \(error.offset), length \(error.length)",
      reason: error.what)
  case let error as DecodingFailure:
    return EngineError.damaged(path: path(), where: "byte \(error.offset)", reason: error.what)
  case ClusterError.tooLarge(let bytes):
    return EngineError.tooLarge(what: "\(bytes) bytes of neighbouring values", limit: "4 GiB")
  case let error as ClusterError:
    return EngineError.damaged(path: path(), where: "a cluster", reason: "\(error)")
  case let error as ObstructionError:
    return EngineError.obstructed(path: path(), reason: "\(error)")
  case let error as CoordinationError:
    return EngineError.busy(path: path(), reason: "\(error)")
  default:
    return error
  }
}
