import Base
import Engine

/// When progress is shown.
enum ProgressMode: String, Sendable, CaseIterable {
  case auto, always, never
}

/// The work that a long command has done since its start.
struct Progress: Sendable, Equatable {
  var bytesRead = 0
  /// The number of bytes to read; nil when it is unknown (a pipe).
  var bytesTotal: Int?
  var rows = 0
  var rejects = 0
  /// Size of the database file.
  var fileBytes: Int?
}

/// One line on standard error about the progress of a command.
///
/// On a terminal the line is redrawn, at most ten times a second, and erased at the end; it is as wide as the
/// terminal at that moment, and omits the least important parts if there is no room. Elsewhere nothing is
/// printed, unless the mode is `always`: then a plain line every two seconds and one at the end.
///
/// Thread rule: one thread at a time. Cost of an update that is too early to show: one read of the clock, so
/// it may be called for every batch.
struct ProgressLine {
  enum Style: Sendable, Equatable { case hidden, redrawn, plain }

  static let redrawInterval: UInt64 = 100_000_000
  static let plainInterval: UInt64 = 2_000_000_000

  let style: Style
  private let columns: () -> Int
  private let clock: () -> UInt64
  private let write: (String) -> Void
  private let started: UInt64
  private var lastShown: UInt64
  private var isDrawn = false
  private var baseline: Int?
  /// The progress since the last line that was shown.
  private var unseen: (progress: Progress, fileBytes: () -> Int?)?

  /// A line on standard error.
  init(mode: ProgressMode) {
    let policy = TerminalPolicy.standardError
    self.init(
      style: Self.style(mode, policy), columns: { System.terminalColumns(2) ?? 80 },
      clock: { System.monotonicNanoseconds }, write: StandardError.text)
  }

  init(
    style: Style, columns: @escaping () -> Int, clock: @escaping () -> UInt64,
    write: @escaping (String) -> Void
  ) {
    self.style = style
    self.columns = columns
    self.clock = clock
    self.write = write
    started = clock()
    lastShown = started
  }

  static func style(_ mode: ProgressMode, _ policy: TerminalPolicy) -> Style {
    switch mode {
    case .never: .hidden
    case .auto: policy.isRich ? .redrawn : .hidden
    case .always: policy.isRich ? .redrawn : .plain
    }
  }

  /// Shows the progress, when enough time has passed since it was last shown.
  ///
  /// - Parameter fileBytes: the size of the database file; called only when it is shown.
  mutating func update(_ progress: Progress, fileBytes: @escaping () -> Int? = { nil }) {
    guard style != .hidden else { return }
    // A resumed import starts far into its input; its speed counts only the bytes that it reads itself.
    let first = baseline ?? progress.bytesRead
    baseline = first
    let now = clock()
    let interval = style == .redrawn ? Self.redrawInterval : Self.plainInterval
    unseen = (progress, fileBytes)
    guard now &- lastShown >= interval else { return }
    show(at: now)
  }

  private mutating func show(at now: UInt64) {
    guard let unseen else { return }
    self.unseen = nil
    lastShown = now
    var progress = unseen.progress
    progress.fileBytes = progress.fileBytes ?? unseen.fileBytes()
    let seconds = Double(now &- started) / 1e9
    let first = baseline ?? progress.bytesRead
    if style == .plain {
      write(Self.text(progress, since: first, seconds: seconds) + "\n")
    } else {
      // One column less than there are: a full last column makes some terminals wrap.
      let room = max(0, columns() - 1)
      let text = Self.text(progress, since: first, seconds: seconds, width: room)
      write("\r" + text.prefix(room) + "\u{1B}[K")
      isDrawn = true
    }
  }

  /// Call at the end: erases the line; without a terminal prints it a last time, so that a log shows how far
  /// the command got.
  mutating func end() {
    if style == .plain { show(at: clock()) }
    erase()
  }

  /// Erases the line, so that another line can be printed; the next update draws it again.
  mutating func erase() {
    guard isDrawn else { return }
    write("\r\u{1B}[K")
    isDrawn = false
  }

  /// `45%  1.2 GB of 2.7 GB  10,234,567 rows  850,000 rows/s  18 s left  file 310 MB`
  ///
  /// - Parameter width: the number of characters; the least important parts are left out first.
  static func text(
    _ progress: Progress, since baseline: Int, seconds: Double, width: Int = .max
  ) -> String {
    // In the order of the line; the parts of larger weight stay longer.
    var parts: [(text: String, weight: Int)] = []
    if let total = progress.bytesTotal, total > 0 {
      let share = min(100, Int(Double(max(0, progress.bytesRead)) / Double(total) * 100))
      parts.append(("\(share)%", 6))
      parts.append(("\(HumanFormat.size(progress.bytesRead)) of \(HumanFormat.size(total))", 2))
    } else {
      parts.append((HumanFormat.size(progress.bytesRead), 6))
    }
    parts.append((HumanFormat.count(progress.rows, "row", "rows"), 5))
    if seconds > 0 { parts.append((HumanFormat.rate(progress.rows, "rows", seconds: seconds), 1)) }
    let own = progress.bytesRead - baseline
    if let total = progress.bytesTotal, own > 0, seconds >= 1, progress.bytesRead < total {
      let left = Double(total - progress.bytesRead) * seconds / Double(own)
      parts.append((timeLeft(left), 4))
    }
    if progress.rejects > 0 {
      parts.append((HumanFormat.count(progress.rejects, "reject", "rejects"), 3))
    }
    if let bytes = progress.fileBytes { parts.append(("file " + HumanFormat.size(bytes), 0)) }
    while parts.count > 1, parts.reduce(-2, { $0 + $1.text.count + 2 }) > width,
      let least = parts.indices.min(by: { parts[$0].weight < parts[$1].weight })
    { parts.remove(at: least) }
    return parts.map(\.text).joined(separator: "  ")
  }

  /// Whole seconds: more would only flicker.
  private static func timeLeft(_ seconds: Double) -> String {
    if seconds < 59.5 { return "\(max(1, Int(seconds.rounded()))) s left" }
    return HumanFormat.duration(seconds: max(60, seconds)) + " left"
  }
}
