import Engine
import Importer

/// `sheaf export --salvage`: writes all objects that can be read, and reports the others.
struct Salvage {
  let path: String
  let table: String
  /// True when the newest version was lost, or may have been.
  let isOlder: Bool

  /// - Returns: `dataRefused` when anything was left out.
  func run(
    _ snapshot: Snapshot, _ exporter: TableExporter,
    write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ExitStatus {
    let left = Left()
    let source = try snapshot.salvage(table, for: exporter.query) { part in
      left.parts += 1
      left.objects = left.objects &+ Int(clamping: part.objects)
      tell(
        "\(HumanFormat.count(Int(clamping: part.objects), "object", "objects")) left out, keys "
          + "\(part.keys.lowerBound) to \(part.keys.upperBound): block at offset \(part.offset): "
          + part.reason)
    }
    let written = try source.map { try exporter.run(from: $0, write: write) } ?? 0
    if isOlder {
      tell("what was written is version \(snapshot.version); a newer one may be lost")
    }
    guard left.parts > 0 else { return isOlder ? .dataRefused : .done }
    tell(
      "\(HumanFormat.count(written, "object", "objects")) written, "
        + "\(HumanFormat.count(left.objects)) left out in "
        + HumanFormat.count(left.parts, "part", "parts"))
    return .dataRefused
  }

  private func tell(_ what: String) {
    StandardError.line("sheaf export: \(path), table '\(table)': \(what)")
  }

  /// Counts the parts and objects that were left out.
  private final class Left {
    var parts = 0
    var objects = 0
  }
}
