/// Rows like those of a well-known list of Android apps: 13 columns, about 124 bytes.
///
/// A row depends on a seed of its own, so repeating an app needs only its seed.
struct AppRows: SampleRows {
  let header =
    "App,Category,Rating,Reviews,Size,Installs,Type,Price,Content Rating,Genres,Last Updated,"
    + "Current Ver,Android Ver\n"

  private static let recentCount = 512
  private static let favouriteCount = 24

  private let columns = AppColumns()
  private let reviews = ReviewCounts()
  private var random: RandomSource
  private var name: [UInt8] = []
  /// Seeds of the newest rows, and of a few apps that come again and again.
  private var recent: [UInt64] = []
  private var favourites: [UInt64] = []
  private var nextRecent = 0

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
  }

  mutating func appendRow(to buffer: inout [UInt8]) {
    let kind = random.below(10_000)
    if kind < 1100, let seed = known() {
      // A third comes again unchanged; the others have gained some reviews since.
      append(seed, gained: kind < 350 ? 0 : 1 + random.below(60), to: &buffer)
      return
    }
    let seed = random.next()
    remember(seed)
    append(seed, gained: 0, to: &buffer)
  }

  /// The seed of an earlier row; nil now and then in the first rows, which have few before them and would
  /// otherwise repeat those too often.
  private mutating func known() -> UInt64? {
    let isFavourite = random.chance(1200)
    let index = random.below(isFavourite ? Self.favouriteCount : Self.recentCount)
    let seeds = isFavourite ? favourites : recent
    return index < seeds.count ? seeds[index] : nil
  }

  private mutating func remember(_ seed: UInt64) {
    if recent.count < Self.recentCount {
      recent.append(seed)
    } else {
      recent[nextRecent] = seed
      nextRecent = (nextRecent + 1) % Self.recentCount
    }
    guard random.chance(60) else { return }
    if favourites.count < Self.favouriteCount {
      favourites.append(seed)
    } else {
      favourites[random.below(Self.favouriteCount)] = seed
    }
  }

  /// Appends the row of a seed.
  ///
  /// - Parameter gained: the share of reviews gained since the app's first row, in 65,536ths.
  private mutating func append(_ seed: UInt64, gained: Int, to buffer: inout [UInt8]) {
    var random = RandomSource(seed: seed)
    let comma = UInt8(ascii: ",")

    name.removeAll(keepingCapacity: true)
    AppNames.append(to: &name, from: &random)
    Self.appendField(name, to: &buffer)
    buffer.append(comma)
    let category = columns.categories.index(at: random.next32())
    columns.categories.append(category, to: &buffer)
    buffer.append(comma)

    // One position stands for the popularity that installs and reviews share.
    let popularity = random.next32()
    let opinion = Self.near(popularity, &random)
    let count = reviews.count(at: opinion, &random)
    if count == 0 || (opinion < 1_075_000_000 && random.chance(4150)) {
      buffer.append(ascii: "NaN")
    } else {
      columns.ratings.append(at: random.next32(), to: &buffer)
    }
    buffer.append(comma)
    let more = (count * UInt64(gained)) >> 16 + (count > 20 ? UInt64(gained & 7) : 0)
    buffer.append(decimal: min(ReviewCounts.most, count + more))
    buffer.append(comma)
    columns.sizes.append(at: random.next32(), to: &buffer)
    buffer.append(comma)
    columns.installs.append(at: popularity, to: &buffer)
    buffer.append(comma)
    let type = columns.types.index(at: random.next32())
    columns.types.append(type, to: &buffer)
    buffer.append(comma)
    if type == 1 {
      columns.prices.append(at: random.next32(), to: &buffer)
    } else {
      buffer.append(UInt8(ascii: "0"))
    }
    buffer.append(comma)
    columns.contentRatings.append(at: random.next32(), to: &buffer)
    buffer.append(comma)
    columns.genres[category].append(at: random.next32(), to: &buffer)
    buffer.append(comma)
    columns.dates.append(at: random.next32(), to: &buffer)
    buffer.append(comma)
    AppVersions.append(to: &buffer, columns.versions, &random)
    buffer.append(comma)
    columns.androids.append(at: random.next32(), to: &buffer)
    buffer.append(UInt8(ascii: "\n"))
  }

  /// A position near another one, reflected at both ends so that all stay equally likely.
  private static func near(_ position: UInt32, _ random: inout RandomSource) -> UInt32 {
    let spread = 1 << 28
    let moved = Int(position) + random.below(spread) - random.below(spread)
    if moved < 0 { return UInt32(-moved) }
    return moved > Int(UInt32.max) ? UInt32(2 * Int(UInt32.max) - moved) : UInt32(moved)
  }

  /// Appends a field as RFC 4180 writes it: in quotes when it must be.
  static func appendField(_ field: [UInt8], to buffer: inout [UInt8]) {
    let quote = UInt8(ascii: "\"")
    guard field.contains(where: { $0 == quote || $0 == UInt8(ascii: ",") || $0 == 0x0A }) else {
      buffer.append(contentsOf: field)
      return
    }
    buffer.append(quote)
    for byte in field {
      if byte == quote { buffer.append(quote) }
      buffer.append(byte)
    }
    buffer.append(quote)
  }
}

/// How often an app was reviewed: few often, many rarely, by Benford's law within every power of
/// ten, up to 78 million.
struct ReviewCounts: Sendable {
  static let most: UInt64 = 78_158_306

  private let weights: WeightTable
  /// The smallest count of each entry, and the number of counts that it stands for.
  private let ranges: [(start: Int, length: Int)]

  init() {
    var weights = [596, 272, 214, 175, 137, 108, 97, 90, 74, 65].map { $0 * 1000 }
    var ranges = (0..<10).map { (start: $0, length: 1) }
    let leading = [301, 176, 125, 97, 79, 67, 58, 51, 46]
    var power = 10
    for rows in [1400, 1500, 1800, 2050, 1550, 650, 62] {
      for digit in 1...9 {
        let start = digit * power
        if start > Int(Self.most) { break }
        weights.append(rows * leading[digit - 1])
        ranges.append((start, min(power, Int(Self.most) + 1 - start)))
      }
      power *= 10
    }
    self.weights = WeightTable(weights)
    self.ranges = ranges
  }

  /// A count at a position between the least reviewed and the most reviewed app.
  func count(at position: UInt32, _ random: inout RandomSource) -> UInt64 {
    let range = ranges[weights.index(at: position)]
    return UInt64(range.start + random.below(range.length))
  }
}

/// Version numbers as developers write them.
enum AppVersions {
  static func append(
    to buffer: inout [UInt8], _ common: WeightedWords, _ random: inout RandomSource
  ) {
    let start = buffer.count
    common.append(at: random.next32(), to: &buffer)
    // The last entry of the common versions is empty and represents all others.
    if buffer.count > start { return }
    let form = random.below(1000)
    if form < 12 {
      let month = UInt64(1 + random.below(12))
      let year = UInt64(2014 + random.below(5))
      buffer.append(decimal: year)
      if form < 8 { buffer.append(UInt8(ascii: ".")) }
      buffer.append(decimal: month, width: 2)
      if form < 8 { buffer.append(UInt8(ascii: ".")) }
      buffer.append(decimal: UInt64(1 + random.below(28)), width: 2)
      return
    }
    if form < 20 { buffer.append(UInt8(ascii: form < 16 ? "v" : "V")) }
    buffer.append(decimal: major(&random))
    let parts = form < 330 ? 1 : form < 870 ? 2 : 3
    for part in 1...parts {
      buffer.append(UInt8(ascii: "."))
      let limit = part == 3 ? 900 : random.chance(1500) ? 200 : 14
      let number = UInt64(random.below(1 + random.below(limit)))
      buffer.append(decimal: number, width: form % 25 == 0 ? 2 : 1)
    }
    if form > 994 {
      buffer.append(ascii: " (build ")
      buffer.append(decimal: UInt64(random.below(100_000)), width: 5)
      buffer.append(ascii: form > 998 ? " release-candidate final)" : ")")
    }
  }

  /// Mostly 1 to 5, sometimes up to the twenties.
  private static func major(_ random: inout RandomSource) -> UInt64 {
    UInt64(1 + random.below(1 + random.below(1 + random.below(random.chance(800) ? 40 : 16))))
  }
}
