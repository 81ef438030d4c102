/// The options of one round of imports.
struct TorturePlan {
  let durability: String
  let batchSize: String?
  let isKeyed: Bool
  /// True when the input takes the place of an earlier one, with `--truncate`.
  let replaces: Bool
  let compacts: Bool
  /// The number of attempts to kill.
  let kills: Int

  init(records: Int, _ random: inout RandomSource) {
    durability = ["full", "group", "none"][random.below(3)]
    replaces = random.below(3) == 0
    let sizes = ["\(max(1, records / 300))", "\(max(1, records / 30))", "1000", "all"]
    // Without a batch size, the replacement of a table is one transaction.
    batchSize = replaces && random.below(2) == 0 ? nil : sizes[random.below(sizes.count)]
    isKeyed = random.below(2) == 0
    compacts = random.below(3) == 0
    kills = 2 + random.below(5)
  }

  /// True when readers see the old table or the new one, and nothing between them.
  var isOneTransaction: Bool { batchSize == nil || batchSize == "all" }

  /// - Parameter isFirst: true when certainly nothing of this input has been imported.
  func words(isFirst: Bool, truncates: Bool) -> [String] {
    var words = ["--durability", durability, "--compact", compacts ? "always" : "never"]
    if let batchSize { words += ["--batch-size", batchSize] }
    if isKeyed { words += ["--key", "id"] }
    if truncates { words.append("--truncate") }
    if !isFirst { words.append("--resume") }
    return words
  }
}
