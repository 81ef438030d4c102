import Engine
import Foundation
import Importer
import Testing
import TestSupport

/// Columns made for each of the encodings and their forms.
enum FormsDatabase {
  static let rowCount = 2500

  static let wanted: Set<String> = {
    var wanted = Set(ColumnEncoding.allCases.map(\.name))
    for form in ["plain", "deltas", "sized"] {
      for encoding in ["integers", "decimals", "dates", "date-times"] {
        wanted.insert("\(encoding)/\(form)")
      }
    }
    for form in ["packed", "first occurrences", "coded", "runs"] {
      wanted.formUnion(["dictionary/\(form)", "dictionary/\(form)/nulls"])
    }
    for style in 0..<dateStyles { wanted.insert("dates/style \(style)") }
    wanted.formUnion([
      "decimals/scales", "decimals/trimmed", "dictionary/symbols", "integers/nulls",
      "integers/exceptions", "dates/exceptions", "doubles/nulls", "packed text/nulls",
      "symbol text/nulls", "symbol text/exceptions", "dictionary/digits of 4 bits",
    ])
    for bits in [1, 2, 4] { wanted.insert("symbol text/digits of \(bits) bits") }
    return wanted
  }()

  static func csv(seed: UInt64) -> String {
    var random = SplitMix64(seed: seed)
    var columns: [[String]] = []
    for style in 0..<dateStyles {
      columns.append(
        column("style \(style)") { row in
          row % 500 == 7 ? "no date" : spell(day: Int(random.next() % 1_400_000) - 700_000, style)
        })
    }
    columns += numbers(&random) + dates(&random) + strings(&random)
    var csv = ""
    for row in 0...rowCount {
      csv += columns.map { $0[row] }.joined(separator: ",") + "\n"
    }
    return csv
  }

  private static func column(_ name: String, _ value: (Int) -> String) -> [String] {
    [name] + (0..<rowCount).map(value)
  }

  /// A number of up to `bits` bits, small ones as frequent as large ones.
  private static func skewed(_ random: inout SplitMix64, bits: UInt64) -> Int64 {
    let size = random.next() % (bits + 1)
    return size == 0 ? 0 : Int64(random.next() >> (64 - size))
  }

  private static func numbers(_ random: inout SplitMix64) -> [[String]] {
    var ascending: Int64 = 1_000_000_007
    return [
      column("whole") { $0 % 9 == 4 ? "" : $0 % 400 == 2 ? "+5" : "\(random.next() % 100_003)" },
      column("deltas") { row in
        ascending += Int64(random.next() % 200) - 60
        return row % 50 == 3 ? "" : "\(ascending)"
      },
      column("sized") { $0 % 31 == 5 ? "" : "\(skewed(&random, bits: 60) - 1000)" },
      column("cents") { _ in spell(Int64(random.next() % 100_000), scale: 2) },
      column("cents with deltas") { row in
        spell(5_000_000 + Int64(row) * 37 + Int64(random.next() % 9), scale: 2)
      },
      column("cents of many sizes") { _ in spell(skewed(&random, bits: 50), scale: 2) },
      column("scales") { row in
        spell(Int64(random.next() % 10_000_000) * 10, scale: row % 2 == 0 ? 4 : 5)
      },
      column("trimmed") { _ in
        var (mantissa, scale) = (Int64(random.next() % 1_000_000) - 500_000, 3)
        while scale > 0 && mantissa % 10 == 0 { (mantissa, scale) = (mantissa / 10, scale - 1) }
        return spell(mantissa, scale: scale)
      },
      column("double") { row in
        let bits = random.next() & 0xBFFF_FFFF_FFFF_FFFF
        return row % 20 == 1 ? "" : Double(bitPattern: bits).description
      },
    ]
  }

  private static func spell(_ mantissa: Int64, scale: Int) -> String {
    if scale == 0 { return "\(mantissa)" }
    let digits = "\(mantissa.magnitude)"
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return (mantissa < 0 ? "-" : "") + padded.dropLast(scale) + "." + padded.suffix(scale)
  }

  private static let dateStyles = 10
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October",
    "November", "December",
  ]

  private static func spell(day: Int, _ style: Int) -> String {
    let iso = CalendarDate(daysSince1970: day)?.description ?? ""
    let parts = iso.split(separator: "-").map(String.init)
    guard parts.count == 3, let month = Int(parts[1]), let number = Int(parts[2]) else {
      return iso
    }
    let (year, name) = (parts[0], months[month - 1])
    return switch style {
    case 1: "\"\(name) \(number), \(year)\""
    case 2: "\"\(name.prefix(3)) \(number), \(year)\""
    case 3: "\(number) \(name) \(year)"
    case 4: "\(number) \(name.prefix(3)) \(year)"
    case 5: "\(parts[1])/\(parts[2])/\(year)"
    case 6: "\(parts[2])/\(parts[1])/\(year)"
    case 7: "\(parts[2]).\(parts[1]).\(year)"
    case 8: "\(year)/\(parts[1])/\(parts[2])"
    case 9: "\(parts[2])-\(name.prefix(3))-\(year)"
    default: iso
    }
  }

  private static func dates(_ random: inout SplitMix64) -> [[String]] {
    func moment(_ seconds: Int64) -> String {
      DateTime(microsecondsSince1970: seconds * 1_000_000)?.description ?? ""
    }
    return [
      column("days with deltas") { spell(day: $0 * 2 + Int(random.next() % 3), 7) },
      column("days of many sizes") { _ in spell(day: Int(skewed(&random, bits: 21)) - 3000, 0) },
      column("moments") { _ in moment(Int64(random.next() % (1 << 32))) },
      column("moments with deltas") { moment(Int64($0) * 60 + Int64(random.next() % 61)) },
      column("moments of many sizes") { _ in moment(skewed(&random, bits: 34)) },
    ]
  }

  private static func strings(_ random: inout SplitMix64) -> [[String]] {
    let syllables = ["ba", "lor", "em", "ip", "sum", "dol", "or", "sit", "a", "met", "con"]
    func prose(_ count: UInt64) -> String {
      (0..<count).map { _ in
        syllables[Int(random.next() % 11)] + (random.next() % 3 == 0 ? " " : "")
      }
      .joined()
    }
    func noise() -> String {
      String(decoding: (0..<7).map { _ in UInt8(0x61 + random.next() % 26) }, as: UTF8.self)
    }
    func hex(_ count: UInt64, _ radix: UInt64) -> String {
      (0..<count).map { _ in String(random.next() % radix, radix: Int(radix)) }.joined()
    }
    let few = (0..<100).map { _ in hex(21, 16) }
    let phrases = (0..<300).map { "\(prose(6))\($0)" }
    func orNull(_ row: Int, _ text: String) -> String { row % 10 == 6 ? "" : text }
    return [
      column("same") { _ in "same" }, column("nothing") { _ in "" },
      column("packed") { _ in "w\(random.next() % 16)" },
      column("packed and null") { orNull($0, "w\(random.next() % 15)") },
      column("runs") { "section \($0 / 90)" },
      column("runs and null") { $0 / 40 % 5 == 2 ? "" : "part \($0 / 40)" },
      column("first") { $0 % 9 == 8 ? "again \($0 % 4)" : "x\(noise())\($0)" },
      column("first and null") { orNull($0, $0 % 9 == 8 ? "again \($0 % 4)" : "y\(noise())\($0)") },
      column("coded") { _ in "c\(skewed(&random, bits: 8))" },
      column("coded and null") { orNull($0, "c\(skewed(&random, bits: 8))") },
      column("mostly null") { $0 % 3 != 0 ? "" : "c\(skewed(&random, bits: 6))" },
      column("phrase") { _ in phrases[Int(skewed(&random, bits: 8))] },
      column("prose") { "\(prose(random.next() % 30)) é\($0)" },
      // A dictionary is smaller when there are many nulls, or when nulls would make lengths take more
      // bits.
      column("prose and null") { row in
        switch row % 500 {
        case 6: ""
        case 7: "\(row / 500)"
        default: "\(prose(random.next() % 30)) z\(row)"
        }
      },
      column("digits") { row in
        row % 10 == 6 ? "" : row % 500 == 7 ? "none yet" : "id-\(hex(8, 16))-\(hex(8, 16))"
      },
      column("bases") { _ in hex(20 + random.next() % 20, 4) },
      column("bits") { _ in hex(40, 2) },
      column("few digits") { row in row % 3 == 0 ? few[row / 3 % few.count] : hex(21, 16) },
      column("noise") { "\(noise().prefix(Int(random.next() % 7)))\(noise())\($0)" },
    ]
  }
}
