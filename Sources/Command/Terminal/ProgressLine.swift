import Engine

/// When progress is shown.
enum ProgressMode: String, Sendable, CaseIterable {
  case auto, always, never
}

/// How far a long command has come; all numbers since its start.
struct Progress: Sendable, Equatable {
  var bytesRead = 0
  /// Bytes there are to read; nil when nobody knows (a pipe).
  var bytesTotal: Int?
  var rows = 0
  var rejects = 0
  /// Size of the database file.
  var fileBytes: Int?
}

/// One line on standard error that says how far a command has come.
///
/// On a terminal the line is redrawn, at most ten times a second, and erased at the end. Elsewhere
/// nothing is printed, unless the mode is `always`: then a plain line every two seconds.
///
/// Thread rule: one thread at a time. Cost of an update that is too early to show: one look at the
/// clock, so it may be called for every batch.
struct ProgressLine {
  enum Style: Sendable, Equatable { case hidden, redrawn, plain }

  static let redrawInterval: UInt64 = 100_000_000
  static let plainInterval: UInt64 = 2_000_000_000

  let style: Style
  private let columns: Int
  private let clock: () -> UInt64
  private let write: (String) -> Void
  private let started: UInt64
  private var lastShown: UInt64
  private var isDrawn = false
  private var baseline: Int?

  /// A line on standard error.
  init(mode: ProgressMode) {
    let policy = TerminalPolicy.standardError
    self.init(
      style: Self.style(mode, policy), columns: System.terminalColumns(2) ?? 80,
      clock: { System.monotonicNanoseconds }, write: StandardError.text)
  }

  init(
    style: Style, columns: Int, clock: @escaping () -> UInt64, write: @escaping (String) -> Void
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
  mutating func update(_ progress: Progress) {
    guard style != .hidden else { return }
    // A resumed import starts far into its input; only what it reads itself counts for its speed.
    let first = baseline ?? progress.bytesRead
    baseline = first
    let now = clock()
    let interval = style == .redrawn ? Self.redrawInterval : Self.plainInterval
    guard now &- lastShown >= interval else { return }
    lastShown = now
    let seconds = Double(now &- started) / 1e9
    let text = Self.text(progress, since: first, seconds: seconds)
    if style == .plain {
      write(text + "\n")
    } else {
      // One column less than there are: a full last column makes some terminals wrap.
      write("\r" + text.prefix(max(0, columns - 1)) + "\u{1B}[K")
      isDrawn = true
    }
  }

  /// Takes the line away, so that another line can be printed; the next update draws it again.
  mutating func erase() {
    guard isDrawn else { return }
    write("\r\u{1B}[K")
    isDrawn = false
  }

  /// `45%  1.2 GB of 2.7 GB  10,234,567 rows  850,000 rows/s  18.2 s left  file 310 MB`
  static func text(_ progress: Progress, since baseline: Int, seconds: Double) -> String {
    var parts: [String] = []
    if let total = progress.bytesTotal, total > 0 {
      let share = min(100, Int(Double(max(0, progress.bytesRead)) / Double(total) * 100))
      parts.append("\(share)%")
      parts.append("\(HumanFormat.size(progress.bytesRead)) of \(HumanFormat.size(total))")
    } else {
      parts.append(HumanFormat.size(progress.bytesRead))
    }
    parts.append(HumanFormat.count(progress.rows, "row", "rows"))
    if seconds > 0 { parts.append(HumanFormat.rate(progress.rows, "rows", seconds: seconds)) }
    let own = progress.bytesRead - baseline
    if let total = progress.bytesTotal, own > 0, seconds >= 1, progress.bytesRead < total {
      let left = Double(total - progress.bytesRead) * seconds / Double(own)
      parts.append(HumanFormat.duration(seconds: left) + " left")
    }
    if progress.rejects > 0 {
      parts.append(HumanFormat.count(progress.rejects, "reject", "rejects"))
    }
    if let bytes = progress.fileBytes { parts.append("file " + HumanFormat.size(bytes)) }
    return parts.joined(separator: "  ")
  }
}
