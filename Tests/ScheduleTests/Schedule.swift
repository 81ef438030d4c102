/// Who went on at the decisions of a run where it was not the usual one: enough to run it again.
struct Schedule: CustomStringConvertible {
  private var choices: [Int: Int] = [:]
  /// How many decisions the run had; nil when nobody said so.
  private(set) var length: Int?
  private let most: Int

  /// A run that does not end has no use for all of its choices.
  private static let mostShown = 500

  /// `DECISION:THREAD,...` and, behind a slash, how many decisions there were.
  var description: String {
    let shown = choices.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.prefix(most)
    return shown.joined(separator: ",") + (length.map { "/\($0)" } ?? "")
  }

  /// - Parameters:
  ///   - decisions: of the run.
  ///   - most: how many choices are told of at most.
  init(_ decisions: [Scheduler.Decision], most: Int = mostShown) {
    self.most = most
    for (number, decision) in decisions.enumerated() where decision.chosen != decision.usual {
      choices[number] = decision.chosen
    }
    // What is not all told of is another run.
    if choices.count <= most { length = decisions.count }
  }

  /// - Parameter text: what `description` gave.
  init?(_ text: String) {
    most = .max
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count > 2 { return nil }
    if parts.count == 2 {
      guard let count = Int(parts[1]) else { return nil }
      length = count
    }
    for part in parts.first?.split(separator: ",") ?? [] {
      let numbers = part.split(separator: ":").compactMap { Int($0) }
      guard numbers.count == 2 else { return nil }
      choices[numbers[0]] = numbers[1]
    }
  }

  func choice(_ moment: Scheduler.Moment) -> Int { choices[moment.number] ?? moment.usual }
}
