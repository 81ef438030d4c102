import Foundation
import TestSupport
import Testing

@testable import Engine

/// A small file with every encoding, several versions and some free space.
struct DamageSample {
  let bytes: [UInt8]
  let digest: UInt64
  /// The contents of the version before, which the other slot names unless the file was closed.
  let before: UInt64
  /// The bytes of the slots and of the newest version's blocks.
  let reachable: Set<Int>
  /// A byte of a cluster.
  let inCluster: Int

  init(isClosed: Bool = true) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path, options: EveryEncoding.options)
    try EveryEncoding.fill(database)
    before = try Model.digest(database.snapshot())
    try EveryEncoding.changeOnce(database)
    let snapshot = try database.snapshot()
    digest = try Model.digest(snapshot)
    let encodings = try database.tableUse("encodings").columns.flatMap(\.encodings.keys)
    #expect(Set(encodings) == Set(ColumnEncoding.allCases.map(\.name)))
    var reachable = Set(0..<Layout.firstBlockOffset)
    var overlays = 0
    var inCluster = 0
    try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
      block, kind, _ in
      overlays += kind == .overlay ? 1 : 0
      if kind == .cluster { inCluster = Int(block.offset) + Int(block.length) - 1 }
      reachable.formUnion(Int(block.offset)..<Int(block.offset) + Int(block.length))
    }
    #expect(overlays > 0)
    var forms: Set<Bool> = []
    try snapshot.table("encodings").forEachLeaf { leaf in
      forms.formUnion((leaf.overlay?.blocks ?? []).map { $0.cluster == nil })
    }
    #expect(forms == [false, true], "blocks of overlays with records, and by columns")
    self.reachable = reachable
    self.inCluster = inCluster
    if isClosed { try database.close() }
    bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    if !isClosed { try database.close() }
  }
}
