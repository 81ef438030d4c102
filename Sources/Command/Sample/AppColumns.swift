/// The distributions of the columns of a list of Android apps, with the shares of the public one of
/// 10,840 rows: the weights are its counts where they are known.
struct AppColumns: Sendable {
  let categories = WeightedWords(AppCategories.all.map { ($0.name, $0.weight) })
  let genres = AppCategories.all.map { WeightedWords($0.genres) }

  let ratings = WeightedWords([
    ("4.4", 1109), ("4.3", 1076), ("4.5", 1038), ("4.2", 952), ("4.6", 823), ("4.1", 708),
    ("4.0", 568), ("4.7", 499), ("3.9", 386), ("3.8", 303), ("5.0", 274), ("3.7", 239),
    ("4.8", 234), ("3.6", 174), ("3.5", 163), ("3.4", 128), ("3.3", 102), ("4.9", 87),
    ("3.0", 83), ("3.1", 69), ("3.2", 64), ("2.9", 45), ("2.8", 42), ("2.6", 25), ("2.7", 25),
    ("2.5", 21), ("2.3", 20), ("2.4", 19), ("1.0", 16), ("2.2", 14), ("1.9", 13), ("2.0", 12),
    ("2.1", 8), ("1.8", 8), ("1.7", 8), ("1.6", 4), ("1.5", 3), ("1.4", 3), ("1.2", 1),
  ])

  /// In ascending order, so that a position stands for the popularity of an app.
  let installs = WeightedWords([
    ("0", 1), ("0+", 14), ("1+", 67), ("5+", 82), ("10+", 386), ("50+", 205), ("100+", 719),
    ("500+", 330),
    ("\"1,000+\"", 907), ("\"5,000+\"", 477), ("\"10,000+\"", 1054), ("\"50,000+\"", 479),
    ("\"100,000+\"", 1169), ("\"500,000+\"", 539), ("\"1,000,000+\"", 1579),
    ("\"5,000,000+\"", 752), ("\"10,000,000+\"", 1252), ("\"50,000,000+\"", 289),
    ("\"100,000,000+\"", 409), ("\"500,000,000+\"", 72), ("\"1,000,000,000+\"", 58),
  ])

  let sizes = WeightedWords(Self.sizeWeights())

  let types = WeightedWords([("Free", 10_039), ("Paid", 800), ("NaN", 1)])

  let prices = WeightedWords(Self.priceWeights())

  let contentRatings = WeightedWords([
    ("Everyone", 8714), ("Teen", 1208), ("Mature 17+", 499), ("Everyone 10+", 414),
    ("Adults only 18+", 3), ("Unrated", 2),
  ])

  let dates = WeightedWords(Self.dateWeights())

  let versions = WeightedWords([
    ("Varies with device", 1459), ("1.0", 660), ("1.1", 170), ("1.2", 100), ("2.0", 80),
    ("1.3", 90), ("1.0.0", 136), ("1.0.1", 119), ("1.4", 88), ("1.5", 87), ("1.0.2", 80),
    ("1.6", 70), ("1.0.3", 65), ("2.1", 60), ("1.0.4", 50), ("NaN", 8), ("", 7499),
  ])

  let androids = WeightedWords([
    ("4.1 and up", 2451), ("4.0.3 and up", 1501), ("4.0 and up", 1375),
    ("Varies with device", 1362), ("4.4 and up", 980), ("2.3 and up", 652), ("5.0 and up", 601),
    ("4.2 and up", 394), ("2.3.3 and up", 281), ("2.2 and up", 244), ("4.3 and up", 243),
    ("3.0 and up", 241), ("2.1 and up", 134), ("1.6 and up", 116), ("6.0 and up", 60),
    ("7.0 and up", 42), ("3.2 and up", 36), ("2.0 and up", 32), ("5.1 and up", 24),
    ("1.5 and up", 20), ("4.4W and up", 12), ("3.1 and up", 10), ("2.0.1 and up", 7),
    ("8.0 and up", 6), ("7.1 and up", 3), ("NaN", 3), ("4.0.3 - 7.1.1", 2), ("5.0 - 8.0", 2),
    ("1.0 and up", 2), ("5.0 - 6.0", 1), ("4.1 - 7.1.1", 1), ("7.0 - 7.1.1", 1),
    ("2.2 - 7.1.1", 1), ("5.0 - 7.1.1", 1),
  ])

  // MARK: Tables that follow a rule

  /// Whole megabytes, tenths below ten, and a few hundred small apps in kilobytes.
  private static func sizeWeights() -> [(String, Int)] {
    var entries = [("Varies with device", 16_950)]
    for megabytes in 10...100 {
      let weight = megabytes <= 20 ? 1800 : megabytes <= 40 ? 1000 : 350
      entries.append(("\(megabytes)M", weight))
    }
    for tenths in 10...99 { entries.append(("\(tenths / 10).\(tenths % 10)M", 440 - 2 * tenths)) }
    for step in 0..<520 { entries.append(("\(14 + step * 19 / 10)k", 6)) }
    return entries
  }

  private static func priceWeights() -> [(String, Int)] {
    var entries = [
      ("$0.99", 1480), ("$2.99", 1290), ("$1.99", 730), ("$4.99", 720), ("$3.99", 630),
      ("$1.49", 460), ("$5.99", 300), ("$2.49", 260), ("$9.99", 210), ("$6.99", 130),
      ("$399.99", 120), ("$14.99", 110), ("$7.99", 70), ("$29.99", 60), ("$24.99", 50),
      ("$19.99", 50), ("$10.00", 30), ("$79.99", 20), ("$389.99", 10), ("$400.00", 10),
      ("$299.99", 10), ("$1.00", 30), ("$8.49", 20), ("$3.49", 70), ("$5.49", 50),
    ]
    for step in 0..<160 {
      entries.append(("$\(1 + step * step / 130).\(10 + step * 37 % 89)", 5))
    }
    return entries
  }

  /// Days back from August 8, 2018: most apps were updated in the last weeks, some not for years.
  private static func dateWeights() -> [(String, Int)] {
    let peaks: [Int: Int] = [
      1: 190, 2: 158, 3: 160, 4: 90, 5: 326, 6: 304, 7: 285, 8: 294, 9: 211, 12: 160, 13: 164,
      14: 150,
    ]
    // August 8, 2018, in days since 1970.
    let lastDay = 17_751
    return (0..<2900).map { age in
      let weight = (peaks[age] ?? 0) * 1000 + 1_300_000_000 / ((age + 150) * (age + 150))
      return (longDate(daysSince1970: lastDay - age), weight)
    }
  }

  /// `"August 3, 2018"`, with its quotes.
  static func longDate(daysSince1970 days: Int) -> String {
    // Howard Hinnant's `civil_from_days`, for days after 1970: years begin in March, so that the
    // leap day is the last of its year.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let year = yearOfEra + era * 400 + (marchMonth >= 10 ? 1 : 0)
    return "\"\(months[marchMonth]) \(day), \(year)\""
  }

  private static let months = [
    "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December", "January", "February",
  ]
}
