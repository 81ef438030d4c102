/// Signs and codes of currencies, as they occur beside amounts.
enum Currency {
  /// Codes of ISO 4217, except those with another meaning, such as `TOP`, `ALL` and `PHP`.
  private static let codes = [
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "CZK", "DKK", "EGP", "EUR",
    "GBP",
    "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KES", "KRW", "KWD", "MXN", "MYR", "NGN",
    "NOK",
    "NZD", "PKR", "PLN", "QAR", "RMB", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TWD", "UAH",
    "USD",
    "VND", "ZAR",
  ]
  private static let signs = [
    "$", "€", "£", "¥", "₹", "₽", "₩", "₪", "₫", "₴", "₺", "₦", "₱", "₸", "₾", "฿", "R$", "US$",
    "C$",
    "CA$", "A$", "AU$", "NZ$", "HK$", "S$", "NT$", "MX$", "kr", "kr.", "Kr", "Kč", "zł", "lei",
    "Rs",
    "Rs.", "Fr.", "руб", "руб.",
  ]
  private static let all = (codes + signs).map { Array($0.utf8) }
  /// By their first byte and by their last, the longest first.
  private static let byFirst = Dictionary(grouping: all) { $0[0] }.mapValues(sorted)
  private static let byLast = Dictionary(grouping: all) { $0[$0.count - 1] }.mapValues(sorted)

  private static func sorted(_ currencies: [[UInt8]]) -> [[UInt8]] {
    currencies.sorted { $0.count > $1.count }
  }

  /// Currencies whose amounts have commas between thousands, when nothing else decides it.
  static let withCommas: Set<[UInt8]> = Set(
    [
      "$", "£", "¥", "₹", "₩", "₪", "₦", "₱", "฿", "US$", "C$", "CA$", "A$", "AU$", "NZ$", "HK$",
      "S$",
      "NT$", "MX$", "Rs", "Rs.", "USD", "GBP", "JPY", "CNY", "RMB", "INR", "KRW", "ILS", "NGN",
      "THB",
      "AUD", "NZD", "CAD", "HKD", "SGD", "TWD", "MXN", "PKR", "KES", "EGP", "MYR",
    ].map { Array($0.utf8) })

  /// The currency at the beginning of some bytes.
  static func beginning(_ bytes: some BidirectionalCollection<UInt8>) -> [UInt8]? {
    bytes.first.flatMap { byFirst[$0] }?.first { bytes.starts(with: $0) }
  }

  /// The currency at the end of some bytes.
  static func ending(_ bytes: some BidirectionalCollection<UInt8>) -> [UInt8]? {
    bytes.last.flatMap { byLast[$0] }?.first {
      $0.count <= bytes.count && bytes.suffix($0.count).elementsEqual($0)
    }
  }
}
