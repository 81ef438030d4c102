/// Who went on at the decisions of a run where it was not the usual one: enough to run it again.
struct Schedule: CustomStringConvertible {
  private var choices: [Int: Int] = [:]

  /// A run that does not end has no use for all of its choices.
  private static let mostShown = 500

  var description: String {
    choices.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }
      .prefix(Self.mostShown).joined(separator: ",")
  }

  init(_ decisions: [Scheduler.Decision]) {
    for (number, decision) in decisions.enumerated() where decision.chosen != decision.usual {
      choices[number] = decision.chosen
    }
  }

  /// - Parameter text: what `description` gave.
  init?(_ text: String) {
    for part in text.split(separator: ",") {
      let numbers = part.split(separator: ":").compactMap { Int($0) }
      guard numbers.count == 2 else { return nil }
      choices[numbers[0]] = numbers[1]
    }
  }

  func choice(_ moment: Scheduler.Moment) -> Int { choices[moment.number] ?? moment.usual }
}
