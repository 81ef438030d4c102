import Base
import Engine

/// Shows on standard error what is being measured: one redrawn line on a terminal; elsewhere a line for each
/// run, if requested.
///
/// Thread rule: one thread at a time.
struct StepProgress {
  private let style: ProgressLine.Style

  init(_ mode: ProgressMode) {
    style = ProgressLine.style(mode, .standardError)
  }

  func show(_ text: String) {
    let text = StandardError.escaped(text)
    switch style {
    case .hidden: break
    case .plain: StandardError.text(text + "\n")
    case .redrawn:
      // One column less than there are: a full last column makes some terminals wrap.
      let columns = (System.terminalColumns(2) ?? 80) - 1
      StandardError.text("\r" + DisplayWidth.cut(text, to: columns) + "\u{1B}[K")
    }
  }

  func erase() {
    if style == .redrawn { StandardError.text("\r\u{1B}[K") }
  }
}
