/// Looks up primary keys in one version of a table, concurrently with the writer and many at a time.
///
/// The results apply to that version. Keys that follow each other in the table, as in an input that is
/// imported again, are found by reading on: one of them is looked up in the index, and the next ones are
/// compared with the keys of the objects after it. All other keys are looked up only in the large runs of the
/// index; the writer then looks them up in the small runs and in newer ones.
///
/// Thread rule: confined; one for each thread. Its memory is reused.
package final class KeyScout {
  private var decoded = DecodedKeys([])
  private var decodedIDs: [UInt32] = []
  /// The number of pieces of the input that are not followed, since the last ones had another order than the
  /// table.
  private var piecesToSkip = 0
  private var skipped = 0
  /// Bytes of the file that were read since its pages were last released.
  private var touched = 0

  /// Following ends after this many keys that are elsewhere in the table.
  private static let mostStrays = 16
  /// The maximum number of index lookups for the next place, in one piece.
  private static let mostPlaces = 8
  /// The number of objects, or keys, without a counterpart that are skipped.
  private static let reach = 8
  private static let mostPiecesToSkip = 16
  private static let mostTouched = 4 << 20
  /// The number of keys looked up before pages are released: releasing them costs as much as some lookups.
  private static let mostTogether = 512
  /// Reading a place also maps its surroundings, 64 KiB on Linux.
  private static let surroundings = 64 << 10

  package init() {}

  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - keys: the bytes of the keys (`KeyTuple`); a null key is not found.
  ///   - found: as many places; receives the key of the object that has each primary key, or -1 when none is
  ///     known.
  ///   - codes: as many places; receives the codes of the keys that were not found, for the writer's lookup.
  /// - Returns: the number of keys that were looked up in the large runs.
  /// - Complexity: O(n) where the keys follow each other, otherwise O(n log objects).
  /// - Complexity: O(n) where the keys follow each other, else O(n log objects).
  /// - Throws: `EngineError.damaged`.
  package func find(
    _ view: KeyView, base: UnsafeRawPointer, keys: UnsafeBufferPointer<TextSpan>,
    into found: UnsafeMutableBufferPointer<Int64>, codes: UnsafeMutableBufferPointer<Int64>
  ) throws -> Int {
    let keys = UnsafeBufferPointer(rebasing: keys.prefix(min(found.count, codes.count)))
    for index in keys.indices { found[index] = -1 }
    let schema = view.table.schema
    let columnIDs = schema.keyColumns.map { schema.columnIDs[$0] }
    guard !columnIDs.isEmpty, !keys.isEmpty else { return 0 }
    if decodedIDs != columnIDs { (decoded, decodedIDs) = (DecodedKeys(columnIDs), columnIDs) }
    let looked = try view.table.reading {
      let piece = Piece(
        view: view, columnIDs: columnIDs, base: base, keys: keys, found: found, codes: codes)
      try follow(piece)
      return try lookUp(piece)
    }
    return looked
  }

  /// Releases the file's mapped pages now and then: see `KeyIndex.limitMapping`.
  ///
  /// - Parameter bytes: the number of bytes of the file that were read.
  package func limitMapping(_ view: KeyView, bytes: Int) {
    touched += bytes
    guard touched >= Self.mostTouched else { return }
    touched = 0
    view.table.tree.blocks.forgetAll(length: Int(clamping: view.table.tree.end))
  }

  private struct Piece {
    let view: KeyView
    let columnIDs: [UInt32]
    let base: UnsafeRawPointer
    let keys: UnsafeBufferPointer<TextSpan>
    let found: UnsafeMutableBufferPointer<Int64>
    let codes: UnsafeMutableBufferPointer<Int64>

    var tree: TreeReader { view.table.tree }

    func bytes(_ row: Int) -> UnsafeRawBufferPointer { keys[row].bytes(from: base) }

    func code(_ row: Int) -> Int64 { view.table.schema.keyCode.code(bytes(row)) }

    func leaf(of object: Int64) throws -> Leaf? {
      try tree.leaf(ofKey: object).map { try Leaf($0, tree.blocks, end: tree.end) }
    }
  }

  // MARK: Following

  private func follow(_ piece: Piece) throws {
    if skipped < piecesToSkip {
      skipped += 1
      return
    }
    var row = 0
    var places = 0
    var followed = 0
    while row < piece.keys.count, places < Self.mostPlaces {
      places += 1
      guard let object = try place(of: row, piece) else {
        // The next keys are likely to be new as well.
        row += 1 << places
        continue
      }
      piece.found[row] = object
      let first = row + 1
      row = try follow(piece, from: first, object)
      followed += row - first
    }
    skipped = 0
    let isOfUse = followed * 4 >= piece.keys.count
    piecesToSkip = isOfUse ? 0 : min(max(1, piecesToSkip * 2), Self.mostPiecesToSkip)
  }

  /// The object that has a key, looked up in all runs; nil when there is none.
  private func place(of row: Int, _ piece: Piece) throws -> Int64? {
    if piece.keys[row].isNull { return nil }
    let code = piece.code(row)
    let blocks = IndexBlocks(piece.tree.blocks, end: piece.tree.end)
    var candidates: [Int64] = []
    for run in piece.view.table.keyRuns {
      if let filter = piece.view.filters[run.root.entry.reference], !filter.mayContain(code) {
        continue
      }
      let opened = try run.find(CollectionOfOne(code), blocks) { candidates.append($1) }
      touched += opened * Self.surroundings
    }
    for object in candidates {
      guard let leaf = try piece.leaf(of: object), let place = try leaf.keys().row(ofKey: object)
      else { continue }
      if try leaf.has(piece.bytes(row), place, piece.columnIDs) { return object }
    }
    return nil
  }

  /// Compares keys with those of the objects after a given one, leaf by leaf.
  ///
  /// - Returns: the first key that was not compared.
  private func follow(_ piece: Piece, from first: Int, _ object: Int64) throws -> Int {
    var row = first
    var last = object
    while row < piece.keys.count, last < .max, let leaf = try piece.leaf(of: last + 1) {
      let keys = try leaf.keys()
      // The object is in this leaf, or was the last one of the previous leaf.
      guard let place = keys.row(ofKey: last).map({ $0 + 1 }) ?? keys.row(ofKey: last + 1),
        place < leaf.rowCount
      else { break }
      let end = min(leaf.rowCount, place + piece.keys.count - row + Self.reach)
      touched += Int(leaf.entry.reference.length)
      try decoded.decode(leaf, rows: place..<end)
      let (next, isLost) = align(piece, row) { keys.key(place + $0) }
      row = next
      if isLost || end < leaf.rowCount { break }
      last = keys.key(end - 1)
    }
    return row
  }

  /// Compares keys with decoded ones in parallel.
  ///
  /// - Parameter object: returns the object of a decoded row.
  /// - Returns: the first key that was not compared, and whether too many were elsewhere.
  private func align(
    _ piece: Piece, _ start: Int, _ object: (Int) -> Int64
  ) -> (row: Int, isLost: Bool) {
    var (row, place, strays) = (start, 0, 0)
    func fits(_ row: Int, _ place: Int) -> Bool {
      guard row < piece.keys.count, place < decoded.count, !piece.keys[row].isNull else {
        return false
      }
      return decoded.has(piece.bytes(row), row: place)
    }
    while row < piece.keys.count, place < decoded.count {
      if fits(row, place) {
        piece.found[row] = object(place)
        (row, place, strays) = (row + 1, place + 1, 0)
        continue
      }
      if let step = (1...Self.reach).first(where: { fits(row, place + $0) }) {
        place += step
      } else if let step = (1...Self.reach).first(where: { fits(row + $0, place) }) {
        row += step
      } else {
        strays += 1
        if strays == Self.mostStrays { return (row, true) }
        (row, place) = (row + 1, place + 1)
      }
    }
    return (row, false)
  }

  // MARK: Looking up

  /// Looks up the keys that were not followed.
  ///
  /// - Returns: the number of these keys.
  private func lookUp(_ piece: Piece) throws -> Int {
    var wanted: [IndexEntry] = []
    for row in piece.keys.indices where piece.found[row] < 0 && !piece.keys[row].isNull {
      let code = piece.code(row)
      piece.codes[row] = code
      wanted.append(IndexEntry(code: code, object: Int64(row)))
    }
    if wanted.isEmpty || piece.view.runs.isEmpty { return wanted.count }
    // Most keys of new objects pass no filter; then no order is needed.
    if piece.view.runs.contains(where: { piece.view.filters[$0.root.entry.reference] == nil }) {
      IndexEntry.sort(&wanted)
    }
    // Pairs of the object as a code, and the number of its key.
    var candidates: [IndexEntry] = []
    func note(_ number: Int64, _ object: Int64) {
      candidates.append(IndexEntry(code: object, object: number))
    }
    for run in piece.view.runs {
      if let filter = piece.view.filters[run.root.entry.reference] {
        var passing = wanted.filter { run.reaches($0.code) && filter.mayContain($0.code) }
        if passing.isEmpty { continue }
        IndexEntry.sort(&passing)
        try find(passing, in: run, piece.view, note)
      } else {
        try find(wanted, in: run, piece.view, note)
      }
    }
    candidates.sort()
    let sweep = ObjectSweep(piece.view.table, columns: piece.view.table.schema.keyColumns)
    try sweep.run(candidates.map(\.code)) { place, fields in
      let row = Int(candidates[place].object)
      if let fields, fields.has(piece.bytes(row), columns: piece.columnIDs.count) {
        piece.found[row] = candidates[place].code
      }
      return true
    }
    touched += candidates.count * Self.surroundings / 16
    return wanted.count
  }

  /// Looks keys up in a run, so many at a time that the leaves do not map too much.
  private func find(
    _ wanted: [IndexEntry], in run: IndexRun, _ view: KeyView,
    _ note: (_ number: Int64, _ object: Int64) -> Void
  ) throws {
    let tree = view.table.tree
    let blocks = IndexBlocks(tree.blocks, end: tree.end)
    for start in stride(from: 0, to: wanted.count, by: Self.mostTogether) {
      let some = wanted[start..<min(start + Self.mostTogether, wanted.count)]
      let opened = try run.find(some.lazy.map(\.code), blocks) {
        note(wanted[start + $0].object, $1)
      }
      limitMapping(view, bytes: opened * Self.surroundings)
    }
  }
}
