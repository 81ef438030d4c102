import Engine

/// One combination to be measured: a batch size and a durability.
struct TuneCombination: Sendable, Equatable {
  let batchSize: CountOrAll
  let durability: Durability

  /// The records of one transaction, in an input of `total`.
  func records(of total: Int) -> Int {
    switch batchSize {
    case .count(let count): min(count, max(1, total))
    case .all: max(1, total)
    }
  }

  /// For sentences: `1,000 objects a transaction, group`.
  var phrase: String { "\(batchSize.phrase), \(durability.rawValue)" }
}

extension CountOrAll {
  /// The text of the option.
  var word: String {
    switch self {
    case .count(let count): "\(count)"
    case .all: "all"
    }
  }

  /// The text in a table.
  var shown: String {
    switch self {
    case .count(let count): HumanFormat.count(count)
    case .all: "all"
    }
  }

  var phrase: String {
    switch self {
    case .count(let count):
      HumanFormat.count(count, "object", "objects") + " a transaction"
    case .all: "all in one transaction"
    }
  }

  var json: JSONValue {
    switch self {
    case .count(let count): .int(count)
    case .all: "all"
    }
  }

  /// True when one batch size comes before the other, from the smallest to the largest.
  static func isSmaller(_ one: CountOrAll, _ other: CountOrAll) -> Bool {
    switch (one, other) {
    case (.count(let first), .count(let second)): first < second
    case (.count, .all): true
    case (.all, _): false
    }
  }
}

/// The arguments of `sheaf tune`.
struct TuneSettings: Sendable {
  let input: String
  /// From the smallest to the largest.
  var batchSizes: [CountOrAll]
  let durabilities: [Durability]
  let repeats: Int
  let limit: Int?
  /// A combination whose run would take more seconds is measured on fewer records.
  let maxSeconds: Int
  /// Options of `sheaf import`, as they were written.
  let importWords: [String]

  /// The combinations to be measured, in the order of the first round.
  var combinations: [TuneCombination] {
    batchSizes.flatMap { size in
      durabilities.map { TuneCombination(batchSize: size, durability: $0) }
    }
  }

  /// The durability that the recommendation is about: the default of `sheaf import`, if measured.
  var mainDurability: Durability {
    durabilities.contains(.group) ? .group : durabilities.first ?? .group
  }

  var json: JSONValue {
    [
      "batchSizes": .array(batchSizes.map(\.json)),
      "durabilities": .array(durabilities.map { .string($0.rawValue) }),
      "repeat": .int(repeats), "limit": .optional(limit) { .int($0) },
      "maxSeconds": .int(maxSeconds),
      "importOptions": .array(importWords.map { .string($0) }),
    ]
  }
}

// MARK: Values of the options

extension ValueKind where Value == [CountOrAll] {
  /// Batch sizes separated by commas, each once.
  static var batchSizes: ValueKind {
    ValueKind(
      placeholder: "N|all,...",
      allowed: "up to 16 different whole numbers, 1 or more, or \"all\", separated by commas"
    ) { text in
      let kind = ValueKind<CountOrAll>.countOrAll
      var sizes: [CountOrAll] = []
      for word in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let size = kind.parse(String(word)), !sizes.contains(size) else { return nil }
        sizes.append(size)
      }
      return sizes.count <= 16 ? sizes.sorted(by: CountOrAll.isSmaller) : nil
    }
  }
}

extension ValueKind where Value == [Durability] {
  /// Durabilities separated by commas, each once; in the order of `Durability`.
  static var durabilities: ValueKind {
    ValueKind(
      placeholder: "full|group|none,...",
      allowed: "full, group or none, or several of them separated by commas"
    ) { text in
      var found: [Durability] = []
      for word in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let one = Durability(rawValue: String(word)), !found.contains(one) else { return nil }
        found.append(one)
      }
      return Durability.allCases.filter { found.contains($0) }
    }
  }
}
