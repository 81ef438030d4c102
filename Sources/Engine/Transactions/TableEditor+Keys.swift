/// The primary key of a table inside a write transaction.
extension TableEditor {
  /// The indices of the primary key's columns, in its order; empty when there is no key.
  package var keyColumns: [Int] { schema.keyColumns }

  /// The names of the key's columns, for messages.
  var keyDescription: String { schema.keyNames.joined(separator: ", ") }

  // MARK: Finding

  /// Looks up primary keys, with the transaction's own changes; for many at a time.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - keys: the bytes of the keys (`KeyTuple`); a null key is not found.
  ///   - codes: the codes of the keys, from a `KeyScout`; nil: they are computed here.
  ///   - passedOver: the roots of large runs of the index in which a `KeyScout` has not found the keys.
  ///   - found: as many places; receives the key of the object that has each primary key, or -1. Keys of
  ///     objects are never negative.
  /// - Complexity: O(n log objects) for n keys; each block on the way is opened once.
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, `.damaged`.
  package func find(
    base: UnsafeRawPointer, keys: UnsafeBufferPointer<TextSpan>,
    codes: [Int64]? = nil, passingOver passedOver: [BlockReference] = [],
    into found: UnsafeMutableBufferPointer<Int64>
  ) throws {
    try use {
      let columns = schema.keyColumns
      guard !columns.isEmpty else {
        throw EngineError.invalidArgument("table '\(name)' has no primary key")
      }
      guard keys.count <= found.count, codes.map({ $0.count == keys.count }) ?? true else {
        throw EngineError.invalidArgument("there is less room than there are keys to find")
      }
      if keys.count == 1, !keys[0].isNull {
        let spelling = keys[0].bytes(from: base)
        found[0] = try findOne(spelling, code: schema.keyCode.code(spelling))
        return
      }
      for index in keys.indices { found[index] = -1 }
      // Pairs of a key's code and its number.
      var wanted: [IndexEntry] = []
      wanted.reserveCapacity(keys.count)
      let keyCode = schema.keyCode
      for (number, span) in keys.enumerated() where !span.isNull {
        let code = codes?[number] ?? keyCode.code(span.bytes(from: base))
        wanted.append(IndexEntry(code: code, object: Int64(number)))
      }
      if index.asksInOrder(wanted.count, passingOver: passedOver) { IndexEntry.sort(&wanted) }
      let candidates = try candidates(wanted, keys: keys.count, passingOver: passedOver)
      try ObjectSweep(self, columns: columns).run(candidates.map(\.code)) { place, fields in
        let number = Int(candidates[place].object)
        if let fields, fields.has(keys[number].bytes(from: base), columns: columns.count) {
          found[number] = candidates[place].code
        }
        return true
      }
      index.limitMapping(objects: candidates.count)
    }
  }

  /// Notes how many keys were looked up in some runs of the index outside the transaction: runs that are
  /// searched often get a filter.
  package func noteLookedUp(_ count: Int, in runs: [BlockReference]) throws {
    if count > 0 { try use { try index.note(lookedUp: count, in: runs) } }
  }

  /// The object that has a primary key, or -1.
  private func findOne(
    _ key: UnsafeRawBufferPointer, code: Int64
  ) throws -> Int64 {
    var found: Int64 = -1
    var count = 0
    // Created only when there is something to read: most keys of new objects are not found.
    var objects: ObjectReader?
    try index.find(code) { object in
      guard object >= 0, object < table.nextKey else { throw outOfRange(object) }
      count += 1
      var reader = objects.take() ?? ObjectReader(self)
      defer { objects = reader }
      guard try reader.go(to: object) else { return }
      if try reader.has(key, schema.keyColumns) { found = max(found, object) }
    }
    index.limitMapping(objects: count)
    return found
  }

  /// The objects that may have the keys, ascending, each as a code paired with the number of its key.
  ///
  /// - Parameters:
  ///   - wanted: the codes of the keys in the order that the index requires, with their numbers.
  ///   - keys: an upper bound of all numbers.
  private func candidates(
    _ wanted: [IndexEntry], keys: Int, passingOver passedOver: [BlockReference]
  ) throws -> [IndexEntry] {
    // Most keys have one candidate; in the order of the keys, these often ascend already.
    var objects = [Int64](repeating: -1, count: keys)
    var more: [IndexEntry] = []
    try index.find(wanted.lazy.map(\.code), passingOver: passedOver) { position, object in
      guard object >= 0, object < table.nextKey else { throw outOfRange(object) }
      let number = Int(wanted[position].object)
      if objects[number] < 0 {
        objects[number] = object
      } else {
        more.append(IndexEntry(code: object, object: Int64(number)))
      }
    }
    var candidates: [IndexEntry] = []
    candidates.reserveCapacity(wanted.count + more.count)
    for (number, object) in objects.enumerated() where object >= 0 {
      candidates.append(IndexEntry(code: object, object: Int64(number)))
    }
    candidates += more
    IndexEntry.sort(&candidates)
    return candidates
  }

  package func find(_ spelling: [UInt8]) throws -> Int64? {
    try Self.withSpan(spelling) { base, span in
      var found: Int64 = -1
      try withUnsafeMutablePointer(to: &found) {
        try find(base: base, keys: span, into: UnsafeMutableBufferPointer(start: $0, count: 1))
      }
      return found < 0 ? nil : found
    }
  }

  /// The key of the object with a primary key; nil when there is none, and for null.
  package func find(_ value: Value) throws -> Int64? {
    // Looked up for null too, so that a table without a primary key and an ended transaction are errors.
    let type = schema.keyColumns.first.map { schema.columns[$0].type } ?? .text
    try checkParts(1)
    for spelling in value.keySpellings(in: type) {
      if let key = try find(spelling) { return value == .null ? nil : key }
    }
    return nil
  }

  /// The key of the object with a primary key, given by its values in the key's order.
  package func find(_ values: [Value]) throws -> Int64? {
    if values.count == 1 { return try find(values[0]) }
    try checkParts(values.count)
    for key in values.keyBytes(schema) {
      if let object = try find(key) { return object }
    }
    return nil
  }

  private func checkParts(_ count: Int) throws {
    guard !schema.keyColumns.isEmpty, schema.keyColumns.count != count else { return }
    throw EngineError.wrongKeyParts(table: name, schema, given: count)
  }

  private static func withSpan<Result>(
    _ spelling: [UInt8],
    _ body: (UnsafeRawPointer, UnsafeBufferPointer<TextSpan>) throws -> Result
  ) throws -> Result {
    let span = TextSpan(offset: 0, length: UInt32(clamping: spelling.count))
    return try spelling.withUnsafeBytes { bytes in
      try withUnsafePointer(to: span) { span in
        // Without bytes nothing is read: any address is valid.
        try body(
          bytes.baseAddress ?? UnsafeRawPointer(span), UnsafeBufferPointer(start: span, count: 1))
      }
    }
  }

  private func outOfRange(_ object: Int64) -> EngineError {
    .damaged(
      path: path, where: "the index of table '\(name)'",
      reason: "it names object \(object), and there is none beyond \(table.nextKey - 1)")
  }

  // MARK: Changing

  private func duplicateKey(_ spelling: UnsafeRawBufferPointer) -> EngineError {
    .duplicateKey(
      table: name, column: keyDescription,
      value: KeyTuple.described(spelling, columns: schema.keyColumns.count))
  }

  /// Adds the primary key of an object that will be added next.
  ///
  /// - Throws: `EngineError.duplicateKey`.
  func addKey(_ spelling: UnsafeRawBufferPointer, of object: Int64) throws {
    let (code, index) = (schema.keyCode.code(spelling), index)
    if index.mayContain(code), try findOne(spelling, code: code) >= 0 {
      throw duplicateKey(spelling)
    }
    index.add(IndexEntry(code: code, object: object))
  }

  /// Adds the primary key that will replace an object's current one.
  ///
  /// - Throws: `EngineError.noSuchObject`, since the index must not name an object that never existed;
  ///   `.duplicateKey`.
  func changeKey(of object: Int64, to spelling: [UInt8]) throws {
    if try find(spelling) == object { return }
    var objects = ObjectReader(self)
    guard try objects.go(to: object) else {
      throw EngineError.noSuchObject(table: name, key: object)
    }
    try spelling.withUnsafeBytes { try addKey($0, of: object) }
  }

  /// Adds the primary keys of objects that will be added next and have consecutive keys.
  func addKeys(
    base: UnsafeRawPointer, _ keys: UnsafeBufferPointer<TextSpan>, codes: [Int64]? = nil,
    firstObject: Int64, areNew: Bool
  ) throws {
    for span in keys where span.isNull {
      throw EngineError.invalidValue(
        table: name, column: keyDescription, value: "null",
        expected: "allowed there")
    }
    if !areNew { try checkNew(base, keys) }
    let keyCode = schema.keyCode
    let index = index
    for (number, span) in keys.enumerated() {
      let code = codes?[number] ?? keyCode.code(span.bytes(from: base))
      index.add(IndexEntry(code: code, object: firstObject &+ Int64(number)))
    }
  }

  /// - Throws: `EngineError.duplicateKey` for a key that already exists or occurs twice.
  private func checkNew(_ base: UnsafeRawPointer, _ keys: UnsafeBufferPointer<TextSpan>) throws {
    try withUnsafeTemporaryAllocation(of: Int64.self, capacity: max(keys.count, 1)) { found in
      found.initialize(repeating: -1)
      try find(base: base, keys: keys, into: found)
      for (number, span) in keys.enumerated() where found[number] >= 0 {
        throw duplicateKey(span.bytes(from: base))
      }
    }
    guard keys.count > 1 else { return }
    var entries = keys.enumerated().map { number, span in
      IndexEntry(code: schema.keyCode.code(span.bytes(from: base)), object: Int64(number))
    }
    entries.sort()
    var start = 0
    for end in entries.indices {
      if entries[start].code != entries[end].code { start = end }
      // Few keys share a code unless they are equal.
      for other in start..<end {
        let key = keys[Int(entries[end].object)].bytes(from: base)
        if Bytes.areEqual(key, keys[Int(entries[other].object)].bytes(from: base)) {
          throw duplicateKey(key)
        }
      }
    }
  }

  /// Adds the primary keys of an encoded cluster's objects.
  func addKeys(of cluster: EncodedCluster) throws {
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      let decoded = DecodedKeys(schema)
      try decoded.decode(reader)
      try decoded.withKeys { base, keys in
        try addKeys(base: base, keys, firstObject: table.nextKey, areNew: false)
      }
    }
  }

  /// Writes entries when there are many. Call it when every object whose key was added has been added.
  func limitIndex() throws {
    if !schema.keyColumns.isEmpty { try index.limitMemory(removeOutdated) }
    try limitValueIndexes()
  }

  // MARK: Merging

  /// Removes the entries whose objects no longer exist or have another key.
  ///
  /// - Throws: `EngineError.invalidKey` when two objects have the same key.
  func removeOutdated(_ entries: inout [IndexEntry]) throws {
    if schema.keyColumns.isEmpty { return entries = [] }
    let order = entries.indices.sorted { entries[$0].object < entries[$1].object }
    var isCurrent = [Bool](repeating: false, count: entries.count)
    var shared: [Int: [UInt8]] = [:]
    var objects = ObjectReader(self)
    for place in order {
      let entry = entries[place]
      let hasNeighbour =
        (place > 0 && entries[place - 1].code == entry.code)
        || (place + 1 < entries.count && entries[place + 1].code == entry.code)
      guard try objects.go(to: entry.object) else { continue }
      try objects.withKey(schema.keyColumns) { spelling in
        guard let spelling, schema.keyCode.code(spelling) == entry.code else { return }
        isCurrent[place] = true
        if hasNeighbour { shared[place] = Array(spelling) }
      }
    }
    try checkUnique(entries, shared)
    var place = 0
    entries.removeAll { _ in
      defer { place += 1 }
      return !isCurrent[place]
    }
  }

  private func described(_ key: [UInt8]) -> String {
    key.withUnsafeBytes { KeyTuple.described($0, columns: schema.keyColumns.count) }
  }

  /// - Parameter spellings: the keys of the entries that share their code with another entry.
  private func checkUnique(
    _ entries: [IndexEntry], _ spellings: [Int: [UInt8]]
  ) throws {
    var owners: [[UInt8]: Int64] = [:]
    for (place, spelling) in spellings.sorted(by: { $0.key < $1.key }) {
      let object = entries[place].object
      guard let other = owners.updateValue(object, forKey: spelling), other != object else {
        continue
      }
      throw EngineError.invalidKey(
        table: name, column: keyDescription,
        reason: "the objects \(min(other, object)) and \(max(other, object)) both have "
          + "'\(described(spelling))'; make one of them different first")
    }
  }
}
