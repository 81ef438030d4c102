/// A category of apps and the genres found in it.
struct AppCategory: Sendable {
  let name: String
  let weight: Int
  let genres: [(String, Int)]

  init(_ name: String, _ weight: Int, _ genre: String) {
    self.init(name, weight, [(genre, weight)])
  }

  init(_ name: String, _ weight: Int, _ genres: [(String, Int)]) {
    self.name = name
    self.weight = weight
    self.genres = genres
  }
}

enum AppCategories {
  static let all: [AppCategory] = [
    AppCategory("FAMILY", 1972, familyGenres()),
    AppCategory("GAME", 1144, gameGenres),
    AppCategory("TOOLS", 843, [("Tools", 842), ("Tools;Education", 1)]),
    AppCategory("MEDICAL", 463, "Medical"),
    AppCategory("BUSINESS", 460, "Business"),
    AppCategory("PRODUCTIVITY", 424, "Productivity"),
    AppCategory("PERSONALIZATION", 392, "Personalization"),
    AppCategory(
      "COMMUNICATION", 387, [("Communication", 385), ("Communication;Creativity", 2)]),
    AppCategory("SPORTS", 384, [("Sports", 380), ("Sports;Action & Adventure", 4)]),
    AppCategory("LIFESTYLE", 382, [("Lifestyle", 380), ("Lifestyle;Education", 2)]),
    AppCategory("FINANCE", 366, "Finance"),
    AppCategory(
      "HEALTH_AND_FITNESS", 341,
      [
        ("Health & Fitness", 338), ("Health & Fitness;Education", 2),
        ("Health & Fitness;Action & Adventure", 1),
      ]),
    AppCategory("PHOTOGRAPHY", 335, "Photography"),
    AppCategory("SOCIAL", 295, "Social"),
    AppCategory("NEWS_AND_MAGAZINES", 283, "News & Magazines"),
    AppCategory("SHOPPING", 260, "Shopping"),
    AppCategory(
      "TRAVEL_AND_LOCAL", 258,
      [("Travel & Local", 257), ("Travel & Local;Action & Adventure", 1)]),
    AppCategory("DATING", 234, "Dating"),
    AppCategory(
      "BOOKS_AND_REFERENCE", 231,
      [("Books & Reference", 227), ("Books & Reference;Education", 4)]),
    AppCategory(
      "VIDEO_PLAYERS", 175,
      [
        ("Video Players & Editors", 170), ("Video Players & Editors;Creativity", 2),
        ("Video Players & Editors;Music & Video", 3),
      ]),
    AppCategory("EDUCATION", 156, [("Education", 120), ("Education;Education", 36)]),
    AppCategory(
      "ENTERTAINMENT", 149, [("Entertainment", 130), ("Entertainment;Music & Video", 19)]),
    AppCategory("MAPS_AND_NAVIGATION", 137, "Maps & Navigation"),
    AppCategory("FOOD_AND_DRINK", 127, "Food & Drink"),
    AppCategory("HOUSE_AND_HOME", 88, "House & Home"),
    AppCategory("AUTO_AND_VEHICLES", 85, "Auto & Vehicles"),
    AppCategory("LIBRARIES_AND_DEMO", 85, "Libraries & Demo"),
    AppCategory("WEATHER", 82, "Weather"),
    AppCategory(
      "ART_AND_DESIGN", 65,
      [
        ("Art & Design", 57), ("Art & Design;Creativity", 7), ("Art & Design;Pretend Play", 1),
      ]),
    AppCategory("EVENTS", 64, "Events"),
    AppCategory("COMICS", 60, [("Comics", 59), ("Comics;Creativity", 1)]),
    AppCategory(
      "PARENTING", 60,
      [
        ("Parenting", 46), ("Parenting;Education", 7), ("Parenting;Music & Video", 6),
        ("Parenting;Brain Games", 1),
      ]),
    AppCategory("BEAUTY", 53, "Beauty"),
  ]

  private static let gameGenres: [(String, Int)] = [
    ("Action", 358), ("Arcade", 205), ("Racing", 92), ("Adventure", 73), ("Card", 46),
    ("Puzzle", 60), ("Casino", 39), ("Trivia", 37), ("Board", 42), ("Casual", 55), ("Word", 29),
    ("Music", 22), ("Strategy", 30), ("Role Playing", 25), ("Simulation", 20), ("Sports", 11),
  ]

  /// Families' apps carry a second genre in about three of ten cases.
  private static func familyGenres() -> [(String, Int)] {
    var genres = [
      ("Entertainment", 440), ("Education", 390), ("Simulation", 170), ("Casual", 128),
      ("Puzzle", 80), ("Role Playing", 80), ("Strategy", 75), ("Educational", 37),
    ]
    let first = [
      ("Educational", 30), ("Casual", 25), ("Education", 18), ("Entertainment", 10),
      ("Puzzle", 8), ("Racing", 5), ("Simulation", 5), ("Arcade", 4), ("Adventure", 4),
      ("Role Playing", 3), ("Board", 3),
    ]
    let second = [
      ("Education", 6), ("Pretend Play", 5), ("Action & Adventure", 5), ("Brain Games", 4),
      ("Creativity", 3), ("Music & Video", 2),
    ]
    for (name, weight) in first {
      for (other, share) in second { genres.append(("\(name);\(other)", weight * share / 5)) }
    }
    return genres
  }
}
