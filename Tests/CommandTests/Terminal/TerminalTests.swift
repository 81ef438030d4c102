import Engine
import Testing

@testable import Command

/// Sizes, counts, durations and rates as people read them.
@Suite struct HumanFormatTests {
  @Test(
    "Sizes are shown in decimal units, also negative ones and the largest",
    arguments: [
      (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_310_144, "2.3 MB"), (99_949, "99.9 kB"),
      (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (310_400_000, "310 MB"),
      (70_000_000, "70.0 MB"), (Int.max, "9,223 PB"), (-1500, "-1.5 kB"), (Int.min, "-9,223 PB"),
    ])
  func sizes(bytes: Int, text: String) {
    #expect(HumanFormat.size(bytes) == text)
  }

  @Test("Counts have separators and the right plural")
  func counts() {
    #expect(HumanFormat.count(0) == "0")
    #expect(HumanFormat.count(999) == "999")
    #expect(HumanFormat.count(47_472) == "47,472")
    #expect(HumanFormat.count(-1_234_567) == "-1,234,567")
    #expect(HumanFormat.count(Int.min) == "-9,223,372,036,854,775,808")
    #expect(HumanFormat.count(1, "row", "rows") == "1 row")
    #expect(HumanFormat.count(0, "row", "rows") == "0 rows")
  }

  @Test("Durations are given in fitting units")
  func durations() {
    #expect(HumanFormat.duration(seconds: 0.05) == "0.05 s")
    #expect(HumanFormat.duration(seconds: 9.999) == "10.0 s")
    #expect(HumanFormat.duration(seconds: 59.96) == "1 min 00 s")
    #expect(HumanFormat.duration(seconds: 185) == "3 min 05 s")
    #expect(HumanFormat.duration(seconds: 7620) == "2 h 07 min")
    #expect(HumanFormat.duration(seconds: .infinity) == "unknown")
    #expect(HumanFormat.duration(seconds: -1) == "unknown")
    #expect(HumanFormat.duration(seconds: 1e300).hasSuffix(" min"))
  }

  @Test("Rates are rounded, and safe for tiny times")
  func rates() {
    #expect(HumanFormat.rate(47_472, "rows", seconds: 0.05) == "949,000 rows/s")
    #expect(HumanFormat.rate(5, "rows", seconds: 0) == "0 rows/s")
    #expect(HumanFormat.byteRate(84_200_000, seconds: 1) == "84.2 MB/s")
    #expect(HumanFormat.byteRate(.max, seconds: 1e-300).hasSuffix("PB/s"))
  }
}

/// The JSON values of the reports.
@Suite struct JSONTests {
  private func text(_ value: JSONValue) -> String { String(decoding: value.line, as: UTF8.self) }

  @Test("JSON objects keep the order of their keys")
  func keysKeepTheirOrder() {
    let value: JSONValue = [
      "z": 1, "a": [1, 2.5, "x", true, nil, [], [:]], "m": ["k": .string("v")],
    ]
    #expect(
      text(value) == "{\"z\":1,\"a\":[1,2.5,\"x\",true,null,[],{}],\"m\":{\"k\":\"v\"}}\n")
    #expect(text(.optional(Int?.none) { .int($0) }) == "null\n")
  }

  @Test("JSON strings escape controls, quotes and backslashes")
  func stringsAreEscaped() {
    #expect(
      text("a\"b\\c/\n\r\t\u{0}\u{1F}\u{7F}é🚀")
        == "\"a\\\"b\\\\c/\\n\\r\\t\\u0000\\u001f\\u007fé🚀\"\n")
    #expect(text(["\"": 1]) == "{\"\\\"\":1}\n")
  }

  @Test("JSON numbers read back, and NaN is null")
  func numbers() {
    #expect(text(.int(.min)) == "-9223372036854775808\n")
    #expect(text(.double(0.1)) == "0.1\n")
    #expect(text(.double(1e300)) == "1e+300\n")
    #expect(text(.double(.leastNonzeroMagnitude)) == "5e-324\n")
    #expect(text(.double(-0.0)) == "-0.0\n")
    #expect(text(.double(.nan)) == "null\n")
    #expect(text(.double(-.infinity)) == "null\n")
  }
}

/// Where colours, progress and several lines are allowed.
@Suite struct TerminalPolicyTests {
  @Test("Colour is used on a terminal that is not dumb, unless NO_COLOR has a value")
  func colourOnlyWhereItIsWanted() {
    #expect(TerminalPolicy(isTerminal: true, noColor: nil, term: "xterm").isRich)
    #expect(TerminalPolicy(isTerminal: true, noColor: "", term: nil).isRich)
    #expect(!TerminalPolicy(isTerminal: true, noColor: "1", term: "xterm").isRich)
    #expect(!TerminalPolicy(isTerminal: true, noColor: nil, term: "dumb").isRich)
    #expect(!TerminalPolicy(isTerminal: false, noColor: nil, term: "xterm").isRich)
  }

  @Test("The style of progress follows the terminal and the option")
  func progressFollowsIt() {
    let rich = TerminalPolicy(isTerminal: true, noColor: nil, term: "xterm")
    let plain = TerminalPolicy(isTerminal: false, noColor: nil, term: nil)
    #expect(ProgressLine.style(.auto, rich) == .redrawn)
    #expect(ProgressLine.style(.auto, plain) == .hidden)
    #expect(ProgressLine.style(.always, plain) == .plain)
    #expect(ProgressLine.style(.always, rich) == .redrawn)
    #expect(ProgressLine.style(.never, rich) == .hidden)
  }

  @Test("Control characters in messages are escaped")
  func messagesStayOneLine() {
    #expect(StandardError.escaped("a\nb\u{1B}[31m\u{9B}é") == "a\\nb\\u{1b}[31m\\u{9b}é")
    #expect(StandardError.escaped("a\r\nb\t") == "a\\r\\nb\\t")
  }
}

/// When and how the progress line is written.
@Suite struct ProgressLineTests {
  /// A clock that a test sets, and a list in place of standard error.
  private final class Fake {
    var now: UInt64 = 5_000_000_000
    var written: [String] = []

    func line(_ style: ProgressLine.Style, columns: Int = 200) -> ProgressLine {
      ProgressLine(
        style: style, columns: { columns }, clock: { self.now }, write: { self.written.append($0) })
    }
  }

  @Test("The progress line is redrawn at most ten times a second, and erased once")
  func redrawsAtMostTenTimesASecond() {
    let fake = Fake()
    var line = fake.line(.redrawn)
    for _ in 0..<1000 {
      fake.now += 1_000_000
      line.update(Progress(bytesRead: 1))
    }
    #expect(fake.written.count == 10)
    #expect(fake.written.allSatisfy { $0.hasPrefix("\r") && $0.hasSuffix("\u{1B}[K") })
    line.erase()
    line.erase()
    #expect(fake.written.count == 11)
    #expect(fake.written.last == "\r\u{1B}[K")
  }

  @Test("Plain progress is a line every two seconds, without control sequences")
  func plainLinesComeEveryTwoSeconds() {
    let fake = Fake()
    var line = fake.line(.plain)
    for _ in 0..<100 {
      fake.now += 100_000_000
      line.update(Progress(bytesRead: 1))
    }
    line.erase()
    #expect(fake.written.count == 5)
    #expect(fake.written.allSatisfy { $0.hasSuffix("\n") && !$0.contains("\u{1B}") })
  }

  @Test("Hidden progress writes nothing")
  func nothingWhenHidden() {
    let fake = Fake()
    var line = fake.line(.hidden)
    fake.now += 10_000_000_000
    line.update(Progress(bytesRead: 1))
    line.erase()
    #expect(fake.written.isEmpty)
  }

  @Test("A progress line is cut to one character less than the terminal's width")
  func theLineFitsTheTerminal() {
    let fake = Fake()
    var line = fake.line(.redrawn, columns: 20)
    fake.now += 1_000_000_000
    line.update(Progress(bytesRead: 1_000_000, bytesTotal: 9_000_000, rows: 1_000_000))
    // Behind a carriage return, and with what clears the rest of the line.
    let length: Int = 1 + 19 + 3
    #expect(fake.written.first?.count == length)
  }

  @Test("The progress line has share, rates, time left and rejects")
  func whatItSays() {
    let progress = Progress(
      bytesRead: 600_000_000, bytesTotal: 1_000_000_000, rows: 4_000_000, rejects: 3,
      fileBytes: 31_000_000)
    #expect(
      ProgressLine.text(progress, since: 200_000_000, seconds: 4)
        == "60%  600 MB of 1.0 GB  4,000,000 rows  1,000,000 rows/s  4 s left  3 rejects  "
        + "file 31.0 MB")
    #expect(
      ProgressLine.text(Progress(bytesRead: 5000, rows: 1), since: 0, seconds: 2)
        == "5.0 kB  1 row  1 rows/s")
  }
}
