/// The choices of a run where they were not the usual ones, which is enough to run it again.
struct Schedule: CustomStringConvertible {
  private var choices: [Int: Int] = [:]
  /// The number of the run's decisions; nil if unknown.
  private(set) var length: Int?
  private let most: Int

  /// A run that does not end would have too many choices.
  private static let mostShown = 500

  /// `DECISION:THREAD,...` and, behind a slash, the number of decisions.
  var description: String {
    let shown = choices.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.prefix(most)
    return shown.joined(separator: ",") + (length.map { "/\($0)" } ?? "")
  }

  /// - Parameters:
  ///   - decisions: of the run.
  ///   - most: the most choices that are kept.
  init(_ decisions: [Scheduler.Decision], most: Int = mostShown) {
    self.most = most
    for (number, decision) in decisions.enumerated() where decision.chosen != decision.usual {
      choices[number] = decision.chosen
    }
    // Without all choices it would be another run.
    if choices.count <= most { length = decisions.count }
  }

  /// - Parameter text: a `description`.
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
