/// The results of scanning the strides of a piece of input, computed before it is known how the piece begins.
///
/// The reader of a piece does not know the bytes before it, in particular whether the piece begins inside
/// quotes. So it scans for both cases: for each stride it records the state in which its scan begins, and the
/// result. A scan from the beginning of the input that reaches the stride in exactly this state gets the same
/// result and can skip its bytes; in any other state it scans them itself. The results are never guesses;
/// they are only useless when the state differs.
///
/// Thread rule: a plain value, `Sendable`.
struct PieceFacts: Sendable {
  /// The result of scanning a stride from a given state.
  struct Course: Sendable {
    fileprivate let state: FieldState
    fileprivate let isBehindReturn: Bool
    fileprivate let beginsRecord: Bool
    fileprivate let isKnown: Bool

    fileprivate let records: UInt16
    fileprivate let lineBreaks: UInt16
    /// The beginning of the last record in it, relative to the stride's first byte; 0: none begins there.
    fileprivate let recordStart: UInt16
    fileprivate let endState: FieldState
    fileprivate let endsInReturn: Bool

    fileprivate static let unknown = Course()

    private init() {
      (state, isBehindReturn, beginsRecord, isKnown) = (.unquoted, false, false, false)
      (records, lineBreaks, recordStart) = (0, 0, 0)
      (endState, endsInReturn) = (.unquoted, false)
    }

    /// - Parameters:
    ///   - before: the state at the stride's first byte.
    ///   - after: the state after its last byte.
    fileprivate init(_ before: RecordScan, _ after: RecordScan) {
      state = before.state
      isBehindReturn = before.previousIsReturn
      beginsRecord = before.recordStart == before.position
      isKnown = true
      records = UInt16(truncatingIfNeeded: after.records - before.records)
      lineBreaks = UInt16(truncatingIfNeeded: after.lineBreaks - before.lineBreaks)
      recordStart = UInt16(truncatingIfNeeded: max(0, after.recordStart - before.position))
      endState = after.state
      endsInReturn = after.previousIsReturn
    }
  }

  let strideBytes: Int
  /// For each whole stride: the results of the scans that begin the piece outside and inside quotes.
  fileprivate let courses: [(outer: Course, inner: Course)]

  /// - Parameters:
  ///   - strideBytes: a multiple of 64, below 65,536.
  ///   - dialect: a plain one.
  /// - Complexity: O(bytes): one scan of them, or two when they may begin inside quotes or outside.
  init(
    _ bytes: UnsafeRawPointer, count: Int, strideBytes: Int, dialect: Dialect,
    blankLinesAreRecords: Bool
  ) {
    self.strideBytes = strideBytes
    var outer: RecordScan? = RecordScan(
      dialect: dialect, recordLimit: .max, byteLimit: .max, maximumRecordBytes: .max,
      blankLinesAreRecords: blankLinesAreRecords)
    // The piece may begin in the middle of a record.
    outer?.recordStart = -1
    outer?.state = .unquoted
    var inner = dialect.quote == nil ? nil : outer
    inner?.state = .quoted
    var courses: [(outer: Course, inner: Course)] = []
    courses.reserveCapacity(count / strideBytes)
    for stride in 0..<count / strideBytes {
      let end = (stride + 1) * strideBytes
      let first = outer.follow(bytes, end)
      let second =
        inner.skipWithoutQuotes(bytes, end, as: outer, first) ?? inner.follow(bytes, end)
      courses.append((first, second))
      guard let one = outer, let other = inner else { continue }
      // When both scans have the same state, one suffices. And literal quotes are rare in unquoted fields: a
      // scan that finds them has assumed the wrong case.
      if one.state == other.state || (other.strayQuotes > 0 && one.strayQuotes == 0) {
        inner = nil
      } else if one.strayQuotes > 0, other.strayQuotes == 0 {
        outer = nil
      }
    }
    self.courses = courses
  }
}

extension RecordScan? {
  /// Continues to the end of a stride.
  fileprivate mutating func follow(_ bytes: UnsafeRawPointer, _ end: Int) -> PieceFacts.Course {
    guard let before = self else { return .unknown }
    _ = self?.advance(bytes, count: end, atEnd: false)
    guard let self else { return .unknown }
    return PieceFacts.Course(before, self)
  }

  /// Like `follow`, inside quotes, for a stride without quotes: the other scan's result has all of its line
  /// ends.
  fileprivate mutating func skipWithoutQuotes(
    _ bytes: UnsafeRawPointer, _ end: Int, as other: RecordScan?, _ course: PieceFacts.Course
  ) -> PieceFacts.Course? {
    guard let before = self, before.state == .quoted, let other,
      before.previousIsReturn == course.isBehindReturn,
      !before.hasQuotes(bytes, upTo: end)
    else { return nil }
    self?.position = end
    self?.lineBreaks += Int(course.lineBreaks)
    self?.previousIsReturn = other.previousIsReturn
    guard let self else { return nil }
    return PieceFacts.Course(before, self)
  }
}

extension RecordScan {
  /// Continues from `position` to `count` like `advance`, but skips strides with known results.
  ///
  /// - Parameter first: where the first stride begins, relative to the chunk, like all positions.
  mutating func advance(
    _ bytes: UnsafeRawPointer, count: Int, atEnd: Bool, leaping facts: PieceFacts, from first: Int
  ) -> Outcome {
    while position < count {
      var next = count
      if position < first {
        next = min(count, first)
      } else {
        let (stride, rest) = (position - first).quotientAndRemainder(dividingBy: facts.strideBytes)
        if stride < facts.courses.count {
          let courses = facts.courses[stride]
          if rest == 0,
            leap(courses.outer, facts.strideBytes) || leap(courses.inner, facts.strideBytes)
          {
            continue
          }
          next = first + (stride + 1) * facts.strideBytes
        }
      }
      let outcome = advance(bytes, count: min(next, count), atEnd: atEnd && next >= count)
      if outcome != .needsMore { return outcome }
    }
    return advance(bytes, count: count, atEnd: atEnd)
  }

  /// Skips a stride with the result of its earlier scan; returns false when this scan might get another
  /// result, or end the chunk there.
  private mutating func leap(_ course: PieceFacts.Course, _ strideBytes: Int) -> Bool {
    guard course.isKnown, course.state == state, course.isBehindReturn == previousIsReturn,
      course.beginsRecord == (recordStart == position),
      mayPass(records: Int(course.records), bytes: strideBytes)
    else { return false }
    records += Int(course.records)
    lineBreaks += Int(course.lineBreaks)
    if course.recordStart > 0 { recordStart = position + Int(course.recordStart) }
    state = course.endState
    previousIsReturn = course.endsInReturn
    position += strideBytes
    return true
  }
}
