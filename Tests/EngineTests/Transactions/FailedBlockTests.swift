import TestSupport
import Testing

@testable import Engine

/// Blocks and trees after a failure in the middle: nothing is freed twice, and no deleted leaf stays
/// open.
@Suite("Blocks after a failure")
struct FailedBlockTests {
  /// A tree of one text column in a transaction, and its block writer.
  private static func transaction(
    _ root: TreeRoot, _ storage: FailingStorage, _ space: SpaceMap, _ blocks: BlockReader,
    _ limits: TreeEditor.Limits
  ) throws -> (BlockWriter, TreeEditor) {
    let end = UInt64(try storage.length())
    let writer = BlockWriter(storage: storage, space: space, length: Int(end))
    let store = ClusterStore(
      writer: writer, blocks: blocks, baseEnd: end, builder: ClusterBuilder())
    store.columnIDs = [1]
    let reader = TreeReader(blocks: blocks, root: root, end: end)
    return (writer, try TreeEditor(reader: reader, clusters: store, limits: limits))
  }

  @Test("A block that is freed twice, or was never there, is an error")
  func surplus() throws {
    let storage = RecordingStorage(isRecording: false)
    let space = SpaceMap(version: 1)
    let writer = BlockWriter(storage: storage, space: space, length: 0)
    let first = try writer.append(node: [UInt8](repeating: 1, count: 100))
    _ = try writer.append(node: [UInt8](repeating: 2, count: 100))
    try writer.drop(first)
    // The page is also that of the other block.
    #expect(throws: BlockError.self) { try writer.drop(first) }
    #expect(throws: BlockError.self) {
      try writer.drop(BlockReference(offset: 0, length: 10, checksum: 0))
    }
    try writer.commit(version: 2)
    let next = BlockWriter(storage: storage, space: space, length: storage.length())
    try next.drop(BlockReference(offset: first.offset, length: 101, checksum: 0))
    #expect(throws: BlockError.self) { try next.commit(version: 3) }
    let beyond = BlockWriter(storage: storage, space: SpaceMap(version: 1), length: 0)
    try beyond.drop(BlockReference(offset: 1 << 30, length: 10, checksum: 0))
    #expect(throws: BlockError.self) { try beyond.commit(version: 2) }
  }

  @Test("A second attempt after a failure in the middle frees nothing twice")
  func secondAttempt() throws {
    for number in 0..<40 {
      let storage = FailingStorage(RecordingStorage(isRecording: false))
      let space = SpaceMap(version: 1)
      let blocks = try BlockReader(storage: storage)
      var limits = TreeEditor.Limits()
      (limits.nodeCapacity, limits.clusterRows, limits.tailRows) = (4, 4, 4)
      limits.smallRows = 4
      func transaction(_ version: UInt64, _ root: TreeRoot, _ runs: [IndexRun]) throws
        -> (BlockWriter, TreeEditor, ValueIndex)
      {
        let (writer, tree) = try Self.transaction(root, storage, space, blocks, limits)
        let end = UInt64(try storage.length())
        let code = ValueCode(Reading(.int), secret: KeyCode(low: 1, high: 2, bits: 0))
        var indexLimits = IndexLimits()
        (indexLimits.leafEntries, indexLimits.nodeCapacity) = (2, 2)
        let index = ValueIndex(
          column: 1, code, runs: runs, writer: writer, blocks: blocks, baseEnd: end,
          limits: indexLimits, isNew: false)
        return (writer, tree, index)
      }
      var (writer, tree, index) = try transaction(2, .empty, [])
      for key in 1...60 as ClosedRange<Int64> {
        try tree.withTail(nextKey: key, appended: 1000) {
          try $0.rows.append(key: key, values: [.text("row \(key)")])
        }
        index.add(key * 3, of: key)
      }
      let root = try tree.seal()
      let runs = try index.seal(objects: 60) { _ in }
      try writer.writeOut()
      try writer.commit(version: 2)
      (writer, tree, index) = try transaction(3, root, runs)
      func attempt() throws {
        for key in stride(from: 2 as Int64, to: 60, by: 5) {
          _ = try tree.update(key, [(0, .text("changed"))])
        }
        try tree.closeAll()
        try index.removeAll()
      }
      storage.fail(after: number, code: 5, kinds: FailingStorage.Kind.all)
      do {
        try attempt()
      } catch {
        #expect(throws: Never.self, "operation \(number)") { try attempt() }
      }
      storage.recover()
      _ = try tree.seal()
      try writer.writeOut()
      #expect(throws: Never.self, "operation \(number)") { try writer.commit(version: 3) }
      if storage.failure == nil { break }
    }
  }

  @Test("Leaves that were written before one could not be are not open any more")
  func closing() throws {
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    let blocks = try BlockReader(storage: storage)
    var limits = TreeEditor.Limits()
    (limits.clusterRows, limits.tailRows, limits.smallRows) = (1, 1, 1)
    let (writer, tree) = try Self.transaction(
      .empty, storage, SpaceMap(version: 1), blocks, limits)
    // Written bytes are passed on by the mebibyte.
    let text = String(repeating: "text ", count: 130_000)
    for key in 1...4 as ClosedRange<Int64> {
      try tree.withTail(nextKey: key, appended: 0) {
        try $0.rows.append(key: key, values: [.text("\(key)" + text)])
      }
    }
    storage.fail(after: 0, code: 5, kinds: [.write])
    #expect(throws: SystemError.self) { try tree.closeAll() }
    try tree.checkInvariants()
    storage.recover()
    try tree.closeAll()
    let root = try tree.seal()
    try writer.writeOut()
    try writer.commit(version: 2)
    #expect(root.count == 4 && writer.bytesWritten < 5 * text.utf8.count)
  }

  @Test("A tree of which a node cannot be read is given up whole, or not at all")
  func givingUp() throws {
    var failures = 0
    for number in 0..<40 {
      let storage = FailingStorage(RecordingStorage(isRecording: false))
      let space = SpaceMap(version: 1)
      let blocks = try BlockReader(storage: storage)
      let empty = space.filledBytes
      var limits = TreeEditor.Limits()
      (limits.nodeCapacity, limits.clusterRows, limits.tailRows) = (4, 4, 4)
      limits.smallRows = 4
      func transaction(_ root: TreeRoot) throws -> (BlockWriter, TreeEditor) {
        try Self.transaction(root, storage, space, blocks, limits)
      }
      var (writer, tree) = try transaction(.empty)
      for key in 1...60 as ClosedRange<Int64> {
        try tree.withTail(nextKey: key, appended: 1000) {
          try $0.rows.append(key: key, values: [.text("row \(key)")])
        }
      }
      let root = try tree.seal()
      try writer.writeOut()
      try writer.commit(version: 2)
      (writer, tree) = try transaction(root)
      storage.fail(after: number, code: 5, kinds: FailingStorage.Kind.all)
      do {
        try tree.removeAll()
      } catch {
        failures += 1
        storage.recover()
        #expect(tree.count == 60)
        #expect(throws: Never.self, "operation \(number)") { try tree.removeAll() }
      }
      storage.recover()
      #expect(try tree.seal() == .empty)
      try writer.commit(version: 3)
      #expect(space.filledBytes == empty, "operation \(number)")
      if storage.failure == nil { break }
    }
    #expect(failures >= 2)
  }

  /// The first of two leaves to be joined is open by then, and its block given up.
  @Test("The second leaf that is to be joined cannot be read, and another one is changed then")
  func joining() throws {
    var failures = 0
    for number in 0..<20 {
      let storage = FailingStorage(RecordingStorage(isRecording: false))
      let space = SpaceMap(version: 1)
      let blocks = try BlockReader(storage: storage)
      var limits = TreeEditor.Limits()
      (limits.nodeCapacity, limits.clusterRows, limits.tailRows) = (4, 4, 2)
      limits.smallRows = 4
      func transaction(_ root: TreeRoot) throws -> (BlockWriter, TreeEditor) {
        try Self.transaction(root, storage, space, blocks, limits)
      }
      func add(_ key: Int64, _ tree: TreeEditor, appended: Int) throws {
        try tree.withTail(nextKey: key, appended: appended) {
          try $0.rows.append(key: key, values: [.text("row \(key)")])
        }
      }
      // A node with four full leaves, and a node with two that are small enough to be joined.
      var (writer, tree) = try transaction(.empty)
      for key in 1...16 as ClosedRange<Int64> { try add(key, tree, appended: 1000) }
      for key in 17...20 as ClosedRange<Int64> { try add(key, tree, appended: 0) }
      let root = try tree.seal()
      #expect(root.level == 2)
      try writer.writeOut()
      try writer.commit(version: 2)
      (writer, tree) = try transaction(root)
      // The path to the second node can still be read.
      _ = try tree.place(ofKey: 20)
      storage.fail(after: number, code: 5, kinds: FailingStorage.Kind.all)
      do {
        try add(21, tree, appended: 0)
      } catch {
        failures += 1
      }
      let hasFailed = storage.failure != nil
      storage.recover()
      #expect(try tree.update(1, [(0, .text("changed"))]))
      let changed = try tree.seal()
      try writer.writeOut()
      try writer.commit(version: 3)
      #expect(changed.count == (hasFailed ? 20 : 21))
      // Giving everything up meets no block that was given up before.
      (writer, tree) = try transaction(changed)
      try tree.removeAll()
      #expect(throws: Never.self, "operation \(number)") { try writer.commit(version: 4) }
      if !hasFailed { break }
    }
    #expect(failures >= 2)
  }
}

extension TreeEditor {
  /// Runs `body` on the rows of `openTail`, and counts those that it has added.
  fileprivate func withTail(
    nextKey: Int64, appended: Int, _ body: (OpenCluster) throws -> Void
  ) throws {
    let tail = try openTail(nextKey: nextKey, appended: appended)
    let before = tail.count
    try body(tail)
    countTail(more: tail.count - before)
  }
}
