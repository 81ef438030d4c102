import Base
import Engine

/// The records of rejects files, found by their bytes; each is found once.
///
/// Memory: that of the files.
///
/// Thread rule: one thread at a time.
final class RejectedRecords {
  private struct LineStart {
    let file: Int
    let offset: Int
  }

  /// The beginnings of equal lines that are not taken, in their order, from `first` on.
  private struct Places {
    var list: [LineStart] = []
    var first = 0
  }

  private var files: [[UInt8]] = []
  /// The beginnings of lines, by their contents.
  private var lines: [UInt64: Places] = [:]
  /// How often a record was compared with a place, for tests.
  private(set) var comparisons = 0

  /// - Throws: `SystemError` when a file cannot be read.
  func add(_ path: String) throws(SystemError) {
    let descriptor = try System.openRegular(path, writable: false)
    defer { System.close(descriptor) }
    let size = try System.status(descriptor, path: path).size
    let bytes = try System.beginning(descriptor, count: size, path: path)
    let file = files.count
    files.append(bytes)
    // The mark before the first record, where no header stands between them.
    var start =
      [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]].first { bytes.starts(with: $0) }?.count ?? 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
      note(LineStart(file: file, offset: start), bytes[start..<end])
      // In UTF-16 the line end may have a second byte.
      if bytes[start] == 0, start + 1 < end {
        note(LineStart(file: file, offset: start + 1), bytes[(start + 1)..<end])
      }
      start = end + 1
    }
  }

  private func note(_ place: LineStart, _ line: ArraySlice<UInt8>) {
    lines[Self.code(line), default: Places()].list.append(place)
  }

  /// The hash of a line without its line end.
  private static func code(_ line: ArraySlice<UInt8>) -> UInt64 {
    var line = line
    while let last = line.last, last == 0x0D || last == 0 { line.removeLast() }
    return line.withUnsafeBytes { Checksum.of($0) }
  }

  /// Takes a record from the files; returns false when there is none that was not taken.
  ///
  /// Cost: constant for equal records, and for records in the order of the files.
  ///
  /// - Parameter record: the record's bytes in the input, without its end.
  func take(_ record: [UInt8]) -> Bool {
    if record.isEmpty { return false }
    let end = record.firstIndex(of: 0x0A) ?? record.count
    guard let line = lines.index(forKey: Self.code(record[..<end])) else { return false }
    let places = lines.values[line]
    for index in places.list.indices[places.first...]
    where has(record, at: places.list[index]) {
      remove(index, of: line)
      return true
    }
    return false
  }

  /// A place that is taken is not looked at again: it could be one of many equal ones.
  private func remove(_ index: Int, of line: Dictionary<UInt64, Places>.Index) {
    if index == lines.values[line].first {
      lines.values[line].first += 1
    } else {
      lines.values[line].list.remove(at: index)
    }
  }

  private func has(_ record: [UInt8], at place: LineStart) -> Bool {
    comparisons += 1
    let rest = files[place.file][place.offset...]
    guard rest.starts(with: record) else { return false }
    // Only the record end may follow.
    let next = rest.dropFirst(record.count).prefix(2)
    return next.isEmpty || next.first == 0x0A || next.first == 0x0D
      || next.elementsEqual([0, 0x0A])
      || next.elementsEqual([0, 0x0D])
  }
}
