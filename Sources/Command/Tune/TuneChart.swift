/// A number of `results.json` in one chart.
struct ChartPoint {
  /// The path of the number in `results.json`: `summary.3.seconds.median`.
  let key: String
  /// The number as `results.json` writes it.
  let json: String
  let value: Double
  let low: Double
  let high: Double
  /// The index of the batch size.
  let position: Int
  /// The text that appears when a person points at it.
  let label: String
  let isScaled: Bool
}

/// One line of a chart.
struct ChartSeries {
  let name: String
  /// The index of the durability, which determines colour and marker.
  let style: Int
  var isDashed = false
  let points: [ChartPoint]
}

/// A chart of numbers by batch size, as SVG that the page's style sheet colours.
///
/// The scale is logarithmic when the largest number is more than eight times the smallest, and otherwise
/// begins at zero, so that heights can be compared.
struct TuneChart {
  let id: String
  let title: String
  /// A description of the chart in words, for screen readers.
  let description: String
  let categories: [String]
  /// The batch size that is recommended.
  let highlighted: Int?
  let series: [ChartSeries]
  let format: (Double) -> String

  private static let width = 360.0
  private static let height = 232.0
  private static let left = 54.0
  private static let right = 10.0
  private static let top = 10.0
  private static let bottom = 40.0

  private var plotWidth: Double { Self.width - Self.left - Self.right }
  private var plotHeight: Double { Self.height - Self.top - Self.bottom }
  private var floorY: Double { Self.height - Self.bottom }

  // MARK: Scale

  private struct Scale {
    let isLogarithmic: Bool
    let low: Double
    let high: Double
    let ticks: [Double]

    /// 0 at the bottom, 1 at the top.
    func share(_ value: Double) -> Double {
      if isLogarithmic {
        let value = max(value, low)
        return (value.logarithm - low.logarithm) / (high.logarithm - low.logarithm)
      }
      return (value - low) / (high - low)
    }
  }

  private var scale: Scale {
    let points = series.flatMap(\.points)
    let high = points.map(\.high).max() ?? 1
    let low = points.map(\.low).min() ?? 0
    guard low > 0, high / low > 8, high.isFinite else { return Self.linear(high) }
    var bottom = 1.0
    while bottom > low { bottom /= 10 }
    while bottom * 10 <= low { bottom *= 10 }
    var ticks = [bottom]
    while let last = ticks.last, last < high { ticks.append(last * 10) }
    let top = ticks.last ?? high
    // Half a decade is enough room above and below, if two marks remain.
    let from = low > bottom * 3.2 ? bottom * 2.5 : bottom
    let to = high < top / 3.2 ? top / 2.5 : top
    let inside = ticks.filter { $0 >= from && $0 <= to }
    if inside.count < 2 {
      return Scale(isLogarithmic: true, low: bottom, high: top, ticks: ticks)
    }
    return Scale(isLogarithmic: true, low: from, high: to, ticks: inside)
  }

  private static func linear(_ high: Double) -> Scale {
    let high = high > 0 && high.isFinite ? high : 1
    var unit = 1.0
    while unit > high { unit /= 10 }
    while unit * 10 <= high { unit *= 10 }
    let step = [0.2, 0.5, 1, 2].first { high / ($0 * unit) <= 5 }.map { $0 * unit } ?? unit * 2
    let count = Int((high / step).rounded(.up))
    return Scale(
      isLogarithmic: false, low: 0, high: step * Double(count),
      ticks: (0...count).map { Double($0) * step })
  }

  // MARK: Geometry

  private func x(_ position: Int) -> Double {
    Self.left + plotWidth * (Double(position) + 0.5) / Double(max(1, categories.count))
  }

  private func y(_ value: Double, _ scale: Scale) -> Double {
    floorY - plotHeight * scale.share(value)
  }

  /// Two decimals at most.
  private func number(_ value: Double) -> String {
    let rounded = (value * 100).rounded() / 100
    return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
  }

  // MARK: SVG

  var svg: String {
    let scale = scale
    var text =
      "<svg viewBox=\"0 0 \(number(Self.width)) \(number(Self.height))\" role=\"img\" "
      + "aria-labelledby=\"\(id)-title \(id)-description\" data-scale=\""
      + (scale.isLogarithmic ? "log" : "linear") + "\">\n"
      + "<title id=\"\(id)-title\">\(Markup.escaped(title))</title>\n"
      + "<desc id=\"\(id)-description\">\(Markup.escaped(description))</desc>\n"
    if let highlighted {
      let width = plotWidth / Double(max(1, categories.count))
      text +=
        "<rect class=\"chosen\" x=\"\(number(x(highlighted) - width / 2))\" "
        + "y=\"\(number(Self.top))\" width=\"\(number(width))\" "
        + "height=\"\(number(plotHeight))\" rx=\"3\"/>\n"
    }
    for tick in scale.ticks {
      let height = number(y(tick, scale))
      text +=
        "<line class=\"grid\" x1=\"\(number(Self.left))\" x2=\"\(number(Self.width - Self.right))\" "
        + "y1=\"\(height)\" y2=\"\(height)\"/>\n"
        + "<text class=\"tick end\" x=\"\(number(Self.left - 7))\" y=\"\(height)\" "
        + "dy=\"0.32em\">\(Markup.escaped(Self.tick(format(tick))))</text>\n"
    }
    text += labels
    for one in series { text += lines(one, scale) }
    for one in series { text += points(one, scale) }
    return text + "</svg>\n"
  }

  /// `10.0 MB` as `10 MB`.
  private static func tick(_ text: String) -> String {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].contains("."), !words[0].contains(",") else { return text }
    var digits = words[0]
    while digits.last == "0" { digits.removeLast() }
    if digits.last == "." { digits.removeLast() }
    return "\(digits) \(words[1])"
  }

  private var labels: String {
    // As many labels as fit beside each other.
    let step = (categories.count + 7) / 8
    var text = ""
    for (position, name) in categories.enumerated() where position % max(1, step) == 0 {
      let isChosen = position == highlighted ? " strong" : ""
      text +=
        "<text class=\"tick middle\(isChosen)\" x=\"\(number(x(position)))\" "
        + "y=\"\(number(floorY + 16))\">\(Markup.escaped(name))</text>\n"
    }
    return text
      + "<text class=\"tick middle\" x=\"\(number(Self.left + plotWidth / 2))\" "
      + "y=\"\(number(Self.height - 6))\">objects in a transaction</text>\n"
  }

  private func lines(_ series: ChartSeries, _ scale: Scale) -> String {
    let path = series.points.enumerated().map { index, point in
      "\(index == 0 ? "M" : "L")\(number(x(point.position))) \(number(y(point.value, scale)))"
    }.joined(separator: " ")
    var text =
      "<path class=\"line s\(series.style)\(series.isDashed ? " dashed" : "")\" d=\"\(path)\"/>\n"
    for point in series.points where point.high > point.low {
      let place = number(x(point.position))
      text +=
        "<line class=\"range s\(series.style)\" x1=\"\(place)\" x2=\"\(place)\" "
        + "y1=\"\(number(y(point.low, scale)))\" y2=\"\(number(y(point.high, scale)))\"/>\n"
    }
    return text
  }

  private func points(_ series: ChartSeries, _ scale: Scale) -> String {
    var text = ""
    for point in series.points {
      let (across, up) = (x(point.position), y(point.value, scale))
      let isHollow = point.isScaled ? " hollow" : ""
      text +=
        "<g class=\"point s\(series.style)\(isHollow)\" data-key=\"\(point.key)\" "
        + "data-value=\"\(point.json)\">"
        + "<title>\(Markup.escaped(point.label))</title>"
        + Self.marker(series.style, number(across), number(up)) + "</g>\n"
    }
    return text
  }

  /// Circle, square, triangle: colour is not the only difference.
  static func marker(_ style: Int, _ x: String, _ y: String) -> String {
    let place = "transform=\"translate(\(x) \(y))\""
    switch style {
    case 0: return "<path \(place) d=\"M-3.6 -3.6H3.6V3.6H-3.6Z\"/>"
    case 1: return "<circle \(place) r=\"4.2\"/>"
    default: return "<path \(place) d=\"M0 -4.8L4.6 3.6H-4.6Z\"/>"
    }
  }
}

extension Double {
  /// The logarithm to base 10, from the exponent and a series, without the C library's function.
  fileprivate var logarithm: Double {
    guard self > 0, isFinite else { return 0 }
    // ln(m · 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)), m in 1..<2
    let z = (significand - 1) / (significand + 1)
    var term = z
    var sum = 0.0
    for power in stride(from: 1.0, through: 33, by: 2) {
      sum += term / power
      term *= z * z
    }
    return (Double(exponent) * 0.693_147_180_559_945_3 + 2 * sum) / 2.302_585_092_994_045_7
  }
}
