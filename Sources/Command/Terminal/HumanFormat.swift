/// Numbers formatted for people. Integer arithmetic only, so every machine prints the same.
enum HumanFormat {
  /// Bytes in decimal units, as disks and networks count: `999 B`, `2.3 MB`, `310 MB`.
  static func size(_ bytes: Int) -> String {
    if bytes < 0 { return "-" + size(bytes == .min ? .max : -bytes) }
    if bytes < 1000 { return "\(bytes) B" }
    var unit = 1000
    for name in ["kB", "MB", "GB", "TB", "PB"] {
      // Rounded half up without multiplying: `bytes` may be near the limit.
      let tenths = rounded(bytes, unit / 10)
      if tenths < 1000 { return "\(tenths / 10).\(tenths % 10) \(name)" }
      let whole = rounded(bytes, unit)
      if whole < 1000 { return "\(whole) \(name)" }
      unit *= 1000
    }
    return "\(count(bytes / 1_000_000_000_000_000)) PB"
  }

  private static func rounded(_ bytes: Int, _ unit: Int) -> Int {
    bytes / unit + (bytes % unit >= unit - unit / 2 ? 1 : 0)
  }

  /// `47,472`
  static func count(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `47,472 rows`, `1 row`
  static func count(_ number: Int, _ singular: String, _ plural: String) -> String {
    "\(count(number)) \(number == 1 ? singular : plural)"
  }

  /// `98%`; only none is 0%, and only all is 100%.
  static func percent(_ share: Double) -> String {
    let whole = Int((min(max(share, 0), 1) * 100).rounded())
    return whole == 100 && share < 1 ? "99%" : whole == 0 && share > 0 ? "1%" : "\(whole)%"
  }

  /// `0.05 s`, `12.3 s`, `3 min 05 s`, `2 h 07 min`
  static func duration(seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0 else { return "unknown" }
    if seconds < 9.995 { return fixed(seconds, decimals: 2) + " s" }
    if seconds < 59.95 { return fixed(seconds, decimals: 1) + " s" }
    let whole = Int(min(seconds, 1e15).rounded())
    if whole < 3600 { return "\(whole / 60) min \(twoDigits(whole % 60)) s" }
    let minutes = (whole + 30) / 60
    return "\(count(minutes / 60)) h \(twoDigits(minutes % 60)) min"
  }

  /// `850,000 rows/s`: three significant digits, more would only flicker.
  static func rate(_ number: Int, _ plural: String, seconds: Double) -> String {
    count(perSecond(number, seconds)) + " \(plural)/s"
  }

  /// `84.2 MB/s`
  static func byteRate(_ bytes: Int, seconds: Double) -> String {
    size(perSecond(bytes, seconds)) + "/s"
  }

  private static func perSecond(_ number: Int, _ seconds: Double) -> Int {
    guard seconds > 0 else { return 0 }
    let rate = Int(min(max(Double(number) / seconds, 0), 1e15).rounded())
    var scale = 1
    while rate / scale >= 1000 { scale *= 10 }
    return (rate + scale / 2) / scale * scale
  }

  /// A number, 0 or more, with a fixed count of decimals (at most 6).
  static func fixed(_ value: Double, decimals: Int) -> String {
    var scale = 1
    for _ in 0..<min(decimals, 6) { scale *= 10 }
    let units = Int((min(max(value, 0), 1e12) * Double(scale)).rounded())
    guard decimals > 0 else { return "\(units)" }
    let fraction = String(units % scale)
    let zeros = String(repeating: "0", count: min(decimals, 6) - fraction.count)
    return "\(units / scale).\(zeros)\(fraction)"
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
