import Base
import Engine

/// Every number in a database file with its place, and how to correct the checksums over it, so that a
/// test can give a field any value under right checksums.
///
/// Written from `docs/file-format.md`, without the engine's readers; the file must be sound and closed.
public struct FieldMap: Sendable {
  public struct Field: Sendable {
    public let name: String
    /// The offsets of the field, one in each slot for fields of slots.
    public let offsets: [Int]
    public let size: Int
    fileprivate let part: Int
  }

  /// Bytes under one checksum.
  private struct Part {
    let range: Range<Int>
    /// Where the checksum is, and the part that contains it.
    let sums: [(offset: Int, part: Int?)]
  }

  public let bytes: [UInt8]
  public private(set) var fields: [Field] = []
  private var parts: [Part] = []

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    for slot in 0..<2 {
      parts.append(Part(range: slot * 4096..<slot * 4096 + 72, sums: [(slot * 4096 + 72, nil)]))
    }
    for (name, at, size) in [
      ("format", 8, 4), ("page size", 12, 4), ("version", 16, 8), ("end", 24, 8),
      ("root offset", 32, 8), ("root length", 40, 4), ("root form", 44, 4),
    ] {
      fields.append(Field(name: "slot \(name)", offsets: [at, at + 4096], size: size, part: 0))
    }
    let root = Int(number(32, 8))
    parts.append(Part(range: root..<root + Int(number(40, 4)), sums: [(48, 0), (48 + 4096, 1)]))
    catalogue(part: 2)
  }

  /// The value of a field in the sound file.
  public func value(_ field: Field) -> UInt64 { number(field.offsets[0], field.size) }

  /// Values that are likely to be misinterpreted.
  public func hostileValues(_ field: Field) -> [UInt64] {
    let bits = UInt64(field.size * 8)
    let largest: UInt64 = bits == 64 ? .max : (1 << bits) - 1
    let sign: UInt64 = 1 << (bits - 1)
    let own = value(field)
    var values: [UInt64] = []
    for value in [
      0, 1, largest, largest - 1, sign, sign - 1, own ^ sign, (own &+ 1) & largest,
      (own &- 1) & largest,
    ] where value != own && !values.contains(value) {
      values.append(value)
    }
    return values
  }

  /// The file with another value in a field, and all checksums right.
  public func forged(_ field: Field, _ value: UInt64) -> [UInt8] {
    var forged = bytes
    for offset in field.offsets { Self.put(value, field.size, at: offset, into: &forged) }
    mend(field.part, &forged)
    if field.part == 0 { mend(1, &forged) }
    return forged
  }

  /// A change of bytes under a checksum; every number is taken modulo its range.
  public enum Edit: Sendable {
    /// Another value for a field.
    case field(Int, UInt64)
    /// One of a field's `hostileValues`.
    case hostile(Int, Int)
    case byte(part: Int, offset: Int, UInt8)
    /// Bytes of the sound file at another place: a reference to another block, or a part of another
    /// column.
    case copy(part: Int, offset: Int, from: Int, at: Int, count: Int)
  }

  /// The file after all edits, with the checksums over changed bytes right.
  public func forged(_ edits: [Edit]) -> [UInt8] {
    var forged = bytes
    var isChanged = [Bool](repeating: false, count: parts.count)
    func put(_ field: Field, _ value: UInt64) {
      for offset in field.offsets { Self.put(value, field.size, at: offset, into: &forged) }
      isChanged[field.part] = true
      if field.part == 0 { isChanged[1] = true }
    }
    for edit in edits {
      switch edit {
      case .field(let number, let value): put(fields[number % fields.count], value)
      case .hostile(let number, let index):
        let field = fields[number % fields.count]
        let values = hostileValues(field)
        put(field, values[index % values.count])
      case .byte(let number, let offset, let value):
        let part = number % parts.count
        forged[parts[part].range.lowerBound + offset % parts[part].range.count] = value
        isChanged[part] = true
      case .copy(let number, let offset, let other, let at, let count):
        let part = number % parts.count
        let target = parts[part].range.dropFirst(offset % parts[part].range.count)
        let source = parts[other % parts.count].range
        for (to, from) in zip(target, source.dropFirst(at % source.count)).prefix(count) {
          forged[to] = bytes[from]
        }
        isChanged[part] = true
      }
    }
    // Parts that contain a checksum come before the part under it.
    for part in parts.indices.reversed() where isChanged[part] {
      let sum = Checksum.of(Array(forged[parts[part].range]))
      for place in parts[part].sums {
        Self.put(sum, 8, at: place.offset, into: &forged)
        if let parent = place.part { isChanged[parent] = true }
      }
    }
    return forged
  }

  private func mend(_ index: Int, _ forged: inout [UInt8]) {
    let sum = Checksum.of(Array(forged[parts[index].range]))
    for place in parts[index].sums {
      Self.put(sum, 8, at: place.offset, into: &forged)
      if let parent = place.part { mend(parent, &forged) }
    }
  }

  private static func put(_ value: UInt64, _ size: Int, at offset: Int, into bytes: inout [UInt8]) {
    for index in 0..<size {
      bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
    }
  }

  private func number(_ offset: Int, _ size: Int) -> UInt64 {
    (0..<size).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }

  // MARK: Reading along

  private struct Cursor {
    var offset: Int
    let part: Int
    let what: String
  }

  @discardableResult
  private mutating func field(_ cursor: inout Cursor, _ name: String, _ size: Int) -> Int {
    fields.append(
      Field(name: "\(cursor.what) \(name)", offsets: [cursor.offset], size: size, part: cursor.part)
    )
    defer { cursor.offset += size }
    return Int(truncatingIfNeeded: number(cursor.offset, size))
  }

  /// A length of four bytes, and as many bytes.
  private mutating func bytes(_ cursor: inout Cursor, _ name: String) -> Range<Int> {
    let length = field(&cursor, "length of the \(name)", 4)
    defer { cursor.offset += length }
    return cursor.offset..<cursor.offset + length
  }

  /// A reference; its block becomes a part of its own.
  private mutating func reference(_ cursor: inout Cursor) -> (part: Int, isOverlay: Bool) {
    let offset = field(&cursor, "offset", 8)
    let length = field(&cursor, "length", 4)
    let form = field(&cursor, "form", 4)
    parts.append(Part(range: offset..<offset + length, sums: [(cursor.offset, cursor.part)]))
    cursor.offset += 8
    return (parts.count - 1, form == 1)
  }

  private mutating func catalogue(part: Int) {
    var cursor = Cursor(offset: parts[part].range.lowerBound + 4, part: part, what: "catalogue's")
    field(&cursor, "next table", 4)
    let count = field(&cursor, "number of tables", 4)
    field(&cursor, "schema version", 8)
    for table in 0..<count {
      cursor = Cursor(offset: cursor.offset, part: part, what: "table \(table)'s")
      field(&cursor, "number", 4)
      _ = bytes(&cursor, "name")
      let block = reference(&cursor).part
      schema(block, "schema \(table)'s")
      let level = field(&cursor, "level", 4)
      field(&cursor, "first key", 8)
      field(&cursor, "objects", 8)
      if level > 0 {
        node(reference(&cursor).part, level, "tree \(table)'s", isIndex: false)
      } else {
        for (name, size) in [("root offset", 8), ("root length", 4), ("root form", 4)] {
          field(&cursor, name, size)
        }
        cursor.offset += 8
      }
      field(&cursor, "next key", 8)
      runs(&cursor, "key \(table)'s")
      for index in 0..<field(&cursor, "number of indexes", 4) {
        field(&cursor, "column of index \(index)", 4)
        field(&cursor, "type of index \(index)", 1)
        cursor.offset += 19
        runs(&cursor, "index \(table).\(index)'s")
      }
      for note in 0..<field(&cursor, "number of notes", 4) {
        let name = bytes(&cursor, "name of note \(note)")
        let value = bytes(&cursor, "note \(note)")
        let text = String(decoding: self.bytes[name], as: UTF8.self)
        // Notes belong to their writer: any number may be anywhere in them.
        for offset in value.prefix(160) {
          for size in [1, 4]
          where offset + size <= value.upperBound && (size == 1 || offset < value.lowerBound + 8) {
            fields.append(
              Field(
                name: "note '\(text)' byte \(offset - value.lowerBound)/\(size)", offsets: [offset],
                size: size, part: part))
          }
        }
      }
    }
  }

  private mutating func runs(_ cursor: inout Cursor, _ what: String) {
    for run in 0..<field(&cursor, "number of \(what) runs", 4) {
      let level = field(&cursor, "level of run \(run)", 4)
      field(&cursor, "first code of run \(run)", 8)
      field(&cursor, "entries of run \(run)", 8)
      node(reference(&cursor).part, level, what, isIndex: true)
      field(&cursor, "last code of run \(run)", 8)
    }
  }

  private mutating func schema(_ part: Int, _ what: String) {
    var cursor = Cursor(offset: parts[part].range.lowerBound + 4, part: part, what: what)
    field(&cursor, "next column", 4)
    let count = field(&cursor, "number of columns", 4)
    field(&cursor, "key column", 4)
    cursor.offset += 16
    field(&cursor, "hash bits", 1)
    cursor.offset += 3
    for column in 0..<count {
      field(&cursor, "number of column \(column)", 4)
      field(&cursor, "type of column \(column)", 1)
      let flags = field(&cursor, "flags of column \(column)", 1)
      _ = bytes(&cursor, "name of column \(column)")
      if flags & 4 != 0 {
        for _ in 0..<field(&cursor, "patterns of column \(column)", 4) {
          _ = bytes(&cursor, "pattern of column \(column)")
        }
      }
      if flags & 2 != 0 { _ = bytes(&cursor, "default of column \(column)") }
    }
  }

  private mutating func node(_ part: Int, _ level: Int, _ what: String, isIndex: Bool) {
    var cursor = Cursor(
      offset: parts[part].range.lowerBound + 1, part: part, what: "\(what) node of level \(level)")
    field(&cursor, "level", 1)
    let count = field(&cursor, "entries", 2)
    cursor.offset += 4
    for entry in 0..<count {
      field(&cursor, "first key \(entry)", 8)
      field(&cursor, "objects \(entry)", 8)
      let (child, isOverlay) = reference(&cursor)
      if level > 1 {
        node(child, level - 1, what, isIndex: isIndex)
      } else if isIndex {
        indexLeaf(child, what)
      } else if isOverlay {
        overlay(child, what)
      } else {
        cluster(child, what)
      }
    }
  }

  private mutating func indexLeaf(_ part: Int, _ what: String) {
    var cursor = Cursor(
      offset: parts[part].range.lowerBound + 1, part: part, what: "\(what) index leaf's")
    for name in ["code bits", "object bits", "steps"] { field(&cursor, name, 1) }
    field(&cursor, "rows", 4)
    field(&cursor, "first code", 8)
    field(&cursor, "base", 8)
  }

  private mutating func overlay(_ part: Int, _ what: String) {
    var cursor = Cursor(
      offset: parts[part].range.lowerBound + 1, part: part, what: "\(what) overlay's")
    let form = field(&cursor, "form of records", 1)
    cursor.offset += 2
    let columns = field(&cursor, "columns", 4)
    field(&cursor, "first key", 8)
    field(&cursor, "base rows", 4)
    let deleted = field(&cursor, "deleted rows", 4)
    let changed = field(&cursor, "changed rows", 4)
    let (below, isOverlay) = reference(&cursor)
    if isOverlay { overlay(below, what) } else { cluster(below, what) }
    if form == 2 {
      for index in 0..<deleted + 1 { field(&cursor, "number \(index)", 4) }
      return cluster(cursor, what)
    }
    for index in 0..<columns + deleted + 2 * changed { field(&cursor, "number \(index)", 4) }
    for index in 0..<min(16, parts[part].range.upperBound - cursor.offset) {
      field(&cursor, "record byte \(index)", 1)
    }
  }

  private mutating func cluster(_ block: Int, _ what: String) {
    let start = parts[block].range.lowerBound
    let header = Int(number(start, 4))
    // The checksum in the reference covers header and directory.
    parts[block] = Part(range: start..<start + header, sums: parts[block].sums)
    cluster(Cursor(offset: start, part: block, what: "\(what) cluster's"), what)
  }

  /// A cluster whose first bytes a part has, that of its own block or that of an overlay.
  private mutating func cluster(_ start: Cursor, _ what: String) {
    var cursor = start
    let start = start.offset
    field(&cursor, "header length", 4)
    field(&cursor, "rows", 4)
    let columns = field(&cursor, "columns", 4)
    for name in ["key form", "key bits"] { field(&cursor, name, 1) }
    cursor.offset += 2
    let keys = field(&cursor, "key offset", 4)
    let keyLength = field(&cursor, "key length", 4)
    segment(start + keys, keyLength, cursor, "\(what) keys")
    cursor.offset += 8
    for _ in 0..<columns {
      let id = field(&cursor, "column number", 4)
      let encoding = field(&cursor, "encoding of \(id)", 1)
      field(&cursor, "kind of \(id)", 1)
      field(&cursor, "flags of \(id)", 2)
      let offset = field(&cursor, "offset of \(id)", 4)
      let length = field(&cursor, "length of \(id)", 4)
      segment(start + offset, length, cursor, "\(what) column \(id), encoding \(encoding),")
      cursor.offset += 8
      field(&cursor, "nulls of \(id)", 4)
      field(&cursor, "minimum of \(id)", 8)
      field(&cursor, "maximum of \(id)", 8)
    }
  }

  /// The first bytes of a segment, which have its counts.
  ///
  /// - Parameter sum: the place of its checksum.
  private mutating func segment(_ start: Int, _ length: Int, _ sum: Cursor, _ what: String) {
    guard length > 0 else { return }
    parts.append(Part(range: start..<start + length, sums: [(sum.offset, sum.part)]))
    var cursor = Cursor(offset: start, part: parts.count - 1, what: what)
    for index in 0..<min(length, 32) {
      for size in [1, 4] where index + size <= length {
        let at = cursor.offset
        field(&cursor, "byte \(index)", size)
        cursor.offset = at
      }
      cursor.offset += 1
    }
  }
}
