import Engine

/// The four charts of the page.
struct TuneCharts {
  private let results: TuneResults
  private let summaries: [TuneSummary]
  private let recommendation: TuneRecommendation?

  /// Lines of several durabilities that differ by no more than this are drawn as one.
  private static let same = 0.03

  init(
    _ results: TuneResults, _ summaries: [TuneSummary], _ recommendation: TuneRecommendation?
  ) {
    self.results = results
    self.summaries = summaries
    self.recommendation = recommendation
  }

  /// One number of a summary, with its range.
  private struct Metric {
    let key: String
    let values: (TuneSummary) -> (median: Double, low: Double, high: Double, json: String)
    let format: (Double) -> String

    static func bytes(
      _ key: String, _ spread: @escaping (TuneSummary) -> Spread<Int>
    ) -> Metric {
      Metric(
        key: key,
        values: {
          let spread = spread($0)
          return (
            Double(spread.median), Double(spread.minimum), Double(spread.maximum),
            TunePage.text(.int(spread.median))
          )
        }, format: { HumanFormat.size(Int(min(max($0, 0), 1e18).rounded())) })
    }

    static var seconds: Metric {
      Metric(
        key: "seconds",
        values: {
          let spread = $0.seconds
          return (
            spread.median, spread.minimum, spread.maximum, TunePage.text(.double(spread.median))
          )
        }, format: TuneFormat.seconds)
    }
  }

  var figures: String {
    let file = Metric.bytes("fileBytes") { $0.fileBytes }
    let compacted = Metric.bytes("compactedBytes") { $0.compactedBytes }
    return figure("time", "Time of the import", series(.seconds, merged: false), .seconds)
      + figure(
        "file", "File size before and after compaction",
        series(file, merged: true, suffix: "before")
          + series(compacted, merged: true, suffix: "after", isDashed: true), file)
      + figure(
        "written", "Bytes written",
        series(.bytes("bytesWritten") { $0.bytesWritten }, merged: true), file)
      + figure(
        "memory", "Peak memory", series(.bytes("peakMemory") { $0.peakMemory }, merged: true), file
      )
  }

  // MARK: Series

  private func series(
    _ metric: Metric, merged: Bool, suffix: String = "", isDashed: Bool = false
  ) -> [ChartSeries] {
    let durabilities = results.settings.durabilities.filter { durability in
      summaries.contains { $0.combination.durability == durability }
    }
    let behind = suffix.isEmpty ? "" : ", \(suffix)"
    if merged, durabilities.count > 1, let difference = difference(metric),
      difference <= Self.same
    {
      let main = recommendation?.main.chosen.combination.durability ?? durabilities[0]
      let percent = max(1, Int((difference * 100).rounded(.up)))
      let names = durabilities.map(\.rawValue).joined(separator: ", ")
      return [
        one(
          metric, main, name: "\(names) (within \(percent)%)\(behind)", isDashed: isDashed)
      ]
    }
    return durabilities.map {
      one(metric, $0, name: $0.rawValue + behind, isDashed: isDashed)
    }
  }

  private func one(
    _ metric: Metric, _ durability: Durability, name: String, isDashed: Bool
  ) -> ChartSeries {
    var points: [ChartPoint] = []
    for (index, summary) in summaries.enumerated()
    where summary.combination.durability == durability {
      guard
        let position = results.settings.batchSizes.firstIndex(of: summary.combination.batchSize)
      else { continue }
      let values = metric.values(summary)
      let mark = summary.isScaled ? "≈ " : ""
      points.append(
        ChartPoint(
          key: "summary.\(index).\(metric.key).median", json: values.json, value: values.median,
          low: values.low, high: values.high, position: position,
          label: "\(summary.combination.phrase): \(mark)\(metric.format(values.median)) "
            + "(\(metric.format(values.low)) – \(metric.format(values.high)))",
          isScaled: summary.isScaled))
    }
    let style = Durability.allCases.firstIndex(of: durability) ?? 0
    return ChartSeries(name: name, style: style, isDashed: isDashed, points: points)
  }

  /// The largest difference between durabilities, as a share of the larger number; nil when not all of them
  /// have been measured at every size.
  private func difference(_ metric: Metric) -> Double? {
    var largest = 0.0
    for size in results.settings.batchSizes {
      let values = summaries.filter { $0.combination.batchSize == size }
        .map { metric.values($0).median }
      guard values.count == results.settings.durabilities.count, let low = values.min(),
        let high = values.max(), high > 0
      else { return nil }
      largest = max(largest, (high - low) / high)
    }
    return largest
  }

  // MARK: Figures

  private func figure(
    _ id: String, _ title: String, _ series: [ChartSeries], _ metric: Metric
  ) -> String {
    let chosen = recommendation?.main.chosen.combination.batchSize
    let chart = TuneChart(
      id: id, title: title, description: description(title, series, metric),
      categories: results.settings.batchSizes.map(Self.label),
      highlighted: chosen.flatMap { results.settings.batchSizes.firstIndex(of: $0) },
      series: series, format: metric.format)
    let legend = series.map { one in
      "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\">"
        + "<path class=\"line s\(one.style)\(one.isDashed ? " dashed" : "")\" d=\"M0 6H26\"/>"
        + "<g class=\"point s\(one.style)\">"
        + TuneChart.marker(one.style, "13", "6") + "</g></svg>\(Markup.escaped(one.name))</li>"
    }.joined()
    // A chart shows which numbers are estimates and not measurements.
    let estimated =
      series.contains { $0.points.contains(where: \.isScaled) }
      ? "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><g class=\"point s1 hollow\">"
        + TuneChart.marker(1, "13", "6") + "</g></svg>≈ estimated from a part</li>"
      : ""
    return "<figure>\n<figcaption>\(Markup.escaped(title))</figcaption>\n"
      + "<ul class=\"legend\">\(legend)\(estimated)</ul>\n" + chart.svg + "</figure>\n"
  }

  private func description(
    _ title: String, _ series: [ChartSeries], _ metric: Metric
  ) -> String {
    let parts = series.map { one in
      let ends = [one.points.first, one.points.last].compactMap { $0 }
      let numbers = ends.map {
        "\(metric.format($0.value)) at batch size \(results.settings.batchSizes[$0.position].shown)"
      }
      return "\(one.name): from \(numbers.joined(separator: " to "))"
    }
    return "\(title) by batch size. \(parts.joined(separator: "; ")). "
      + "All numbers are in the table below."
  }

  /// A label short enough for its place under a chart.
  private static func label(_ size: CountOrAll) -> String {
    guard case .count(let count) = size, count >= 10_000 else { return size.shown }
    if count % 1_000_000 == 0 { return "\(count / 1_000_000)M" }
    return count % 1000 == 0 ? "\(count / 1000)k" : size.shown
  }
}
