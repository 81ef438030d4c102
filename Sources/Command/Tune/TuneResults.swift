import Importer
import Base
import Engine

/// All results of an experiment: the content of `results.json`, and the source of everything else.
struct TuneResults: Sendable {
  /// Batch sizes that make no difference are removed once the size of the input is known.
  var settings: TuneSettings
  let machine: TuneMachine
  /// The time at which it began, in UTC.
  let began = System.now(local: false)
  /// The folder of the databases.
  var temporary = ""
  /// Records of the whole input, or the number of `--limit`.
  var records = 0
  var rejected = 0
  var runs: [TuneRun] = []
  /// Runs on a small part of the input: the whole is estimated from them and the runs on a larger part.
  var parts: [TuneRun] = []
  var notes: [String] = []
  /// False when a signal or an error ended the experiment early.
  var isComplete = false

  init(settings: TuneSettings, machine: TuneMachine) {
    self.settings = settings
    self.machine = machine
  }

  /// Combinations that have been measured at least once, from the smallest batch to the largest.
  var summaries: [TuneSummary] {
    settings.combinations.compactMap { TuneSummary($0, runs, total: records, parts: parts) }
  }

  var date: String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(began.year)-\(two(began.month))-\(two(began.day))T"
      + "\(two(began.hour)):\(two(began.minute)):\(two(began.second))Z"
  }

  /// The command that repeats the experiment.
  var command: String {
    (["sheaf"] + GivenWords.all.map(ShellWord.quoted))
      .joined(separator: " ")
  }

  var inputBytes: Int { (try? System.status(path: settings.input).size) ?? 0 }

  var json: JSONValue {
    [
      "command": "tune", "version": .string(Version.number), "date": .string(date),
      "complete": .bool(isComplete), "commandLine": .string(command), "machine": machine.json,
      "input": [
        "path": .string(settings.input), "bytes": .int(inputBytes), "records": .int(records),
        "rejected": .int(rejected),
      ],
      "settings": settings.json, "temporary": .string(temporary),
      "notes": .array(notes.map { .string($0) }),
      "recommendation": .optional(TuneRecommendation(self)) { $0.json },
      "summary": .array(summaries.map(\.json)), "runs": .array(runs.map(\.json)),
    ]
  }

  /// The object `json` as text, with a line for each of its members and each element of its long arrays.
  var file: [UInt8] {
    guard case .object(let members) = json else { return json.line }
    var text = "{\n"
    for (index, member) in members.enumerated() {
      text += "  \(Self.compact(.string(member.key))): "
      if case .array(let elements) = member.value, !elements.isEmpty {
        text += "[\n"
        text += elements.map { "    " + Self.compact($0) }.joined(separator: ",\n")
        text += "\n  ]"
      } else {
        text += Self.compact(member.value)
      }
      text += index + 1 < members.count ? ",\n" : "\n"
    }
    return Array((text + "}\n").utf8)
  }

  private static func compact(_ value: JSONValue) -> String {
    String(decoding: value.line.dropLast(), as: UTF8.self)
  }

  /// A line for each run.
  var csv: [UInt8] {
    var text = TuneRun.names.joined(separator: ",") + "\n"
    for run in runs {
      text +=
        run.fields.map { field in
          if case .string(let word) = field.value { return word }
          return Self.compact(field.value)
        }.joined(separator: ",") + "\n"
    }
    return Array(text.utf8)
  }
}
