import Importer
import TestSupport

@testable import Engine

/// A forged database file with right checksums: everything that can be done with it works or throws the
/// engine's own error, and the check finds whatever breaks an operation (`Forgery`).
///
/// The input: up to twelve edits of a file with every encoding; a byte for the kind of each, and its
/// arguments.
@c(LLVMFuzzerTestOneInput)
public func fuzzDatabase(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  var edits: [FieldMap.Edit] = []
  while !input.isEmpty, edits.count < 12 {
    switch input.byte() & 3 {
    case 0: edits.append(.hostile(input.index(), input.index(1)))
    case 1: edits.append(.field(input.index(), input.number(bytes: 8)))
    case 2: edits.append(.byte(part: input.index(), offset: input.index(), input.byte()))
    default:
      edits.append(
        .copy(
          part: input.index(), offset: input.index(), from: input.index(), at: input.index(),
          count: input.index(1)))
    }
  }
  let forged = sound.forged(edits)
  do {
    if let problem = try Forgery(forged).problem() { found("\(edits): \(problem)") }
    if let problem = try Readers(forged).problem() { found("\(edits): \(problem)") }
  } catch {
    found("\(edits): \(error)")
  }
  return 0
}

private let sound = soundFile()

private func soundFile() -> FieldMap {
  do {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: EveryEncoding.options)
    try EveryEncoding.fill(database)
    try EveryEncoding.changeOnce(database)
    try database.close()
    return FieldMap(storage.content)
  } catch {
    found("the sound file cannot be made: \(error)")
  }
}

/// Readers above the engine, and changes of keyed tables: export, salvage, keyed rows.
private struct Readers {
  let storage: RecordingStorage

  init(_ bytes: [UInt8]) { storage = RecordingStorage(bytes, isRecording: false) }

  func problem() throws -> String? {
    let database: Database
    do {
      database = try Database.open(storage: storage, options: .tiny)
    } catch is EngineError {
      return nil
    }
    let isSound = (try? database.check().problems)?.isEmpty ?? false
    var problem: String?
    func attempt(_ what: String, _ body: () throws -> Void) {
      do {
        try body()
      } catch let error as EngineError {
        switch error {
        case .damaged, .system:
          if isSound { problem = "the check is silent, and \(what): \(error)" }
        default: break
        }
      } catch is QueryError {
      } catch {
        problem = "\(what) threw \(error)"
      }
    }
    for name in (try? database.snapshot().tableNames) ?? [] {
      for format in TableExporter.Format.allCases {
        attempt("an export") {
          var exporter = TableExporter()
          exporter.format = format
          try exporter.run(database.snapshot().table(name)) { _ in }
        }
      }
      attempt("salvage") {
        let source = try database.snapshot().salvage(name, for: Query()) { _ in }
        if let source { try TableExporter().run(from: source) { _ in } }
      }
      attempt("an upsert") {
        try database.write { transaction in
          let table = try transaction.table(name)
          guard let key = table.keyColumn else { return }
          for number in 0..<6 { try table.upsert([key: .text("\(number * 2)")]) }
        }
      }
      attempt("a key") {
        try database.write { transaction in
          let table = try transaction.table(name)
          if let column = table.columns.last { try table.setKey(column.name) }
        }
      }
    }
    attempt("closing") { try database.close() }
    return problem
  }
}
