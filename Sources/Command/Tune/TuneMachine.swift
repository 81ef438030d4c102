import Base
import Engine

/// The machine that runs the experiment.
struct TuneMachine: Sendable {
  let cores = System.processorCount
  let memory = System.memorySize
  let processor = System.processorName
  let kernel = System.kernel
  let system = System.systemName
  let fileSystem: String?
  /// Processes that were ready to run, on average over the last minute.
  let load = System.loadAverage

  init(folder: String) {
    fileSystem = System.fileSystem(at: folder)
  }

  var json: JSONValue {
    func text(_ value: String?) -> JSONValue { .optional(value) { .string($0) } }
    return [
      "cores": .int(cores), "memory": .optional(memory) { .int($0) },
      "processor": text(processor), "architecture": .string(kernel.architecture),
      "system": text(system), "kernel": .string("\(kernel.name) \(kernel.release)"),
      "fileSystem": text(fileSystem), "loadBefore": .optional(load) { .double($0) },
    ]
  }

  /// Label and value, for people.
  var lines: [(label: String, value: String)] {
    var lines = [
      (
        "processor",
        (processor.map { "\($0), " } ?? "") + HumanFormat.count(cores, "core", "cores")
          + ", \(kernel.architecture)"
      )
    ]
    if let memory { lines.append(("memory", HumanFormat.size(memory))) }
    lines.append(
      ("system", (system.map { "\($0), " } ?? "") + "\(kernel.name) \(kernel.release)"))
    if let fileSystem { lines.append(("file system", fileSystem)) }
    if let load {
      lines.append(("load before", HumanFormat.fixed(load, decimals: 2)))
    }
    return lines
  }
}

/// Numbers as the table and the page show them: three significant digits, one unit for each column's
/// purpose, so that rows compare at a glance.
enum TuneFormat {
  /// `24.3 ms`, `1.23 s`, `81.1 s`, `1,234 s`
  static func seconds(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0 else { return "unknown" }
    return seconds < 0.9995 ? "\(digits(seconds * 1000)) ms" : "\(digits(seconds)) s"
  }

  private static func digits(_ value: Double) -> String {
    if value < 9.995 { return HumanFormat.fixed(value, decimals: 2) }
    if value < 99.95 { return HumanFormat.fixed(value, decimals: 1) }
    return HumanFormat.count(Int(min(value, 1e15).rounded()))
  }

  /// `2.1`, `131`: a factor.
  static func times(_ factor: Double) -> String {
    factor.isFinite ? digits(max(0, factor)) : "many"
  }
}
