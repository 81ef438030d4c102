#if DEBUG
  import Base

  extension TreeEditor {
    /// In the nodes in memory: every count is the number of objects below, every node above an open leaf will
    /// be written, and all open leaves are counted. Applies until `seal`, which leaves the nodes unchanged.
    ///
    /// Checked when all leaves have been closed, and after changes whose number is a power of two or a
    /// multiple of 4,096.
    ///
    /// - Complexity: O(children of nodes in memory).
    package func checkInvariants() throws(BrokenInvariant) {
      guard let root else {
        if count != 0 { throw BrokenInvariant(what: "tree: \(count) objects, and no root") }
        return
      }
      var open = 0
      let sum = try checkInvariants(root, &open)
      guard sum == count else {
        throw BrokenInvariant(what: "tree: \(sum) objects below the root, said to be \(count)")
      }
      guard open == openCount else {
        throw BrokenInvariant(what: "tree: \(open) open leaves, said to be \(openCount)")
      }
    }

    /// First keys ascend, and so do the leaves that are open as rows, between those of their neighbours. Not
    /// checked for forged files, whose leaves are read as they are.
    ///
    /// - Complexity: O(rows in memory).
    package func checkKeys() throws(BrokenInvariant) {
      if let root { try checkKeys(root, before: nil) }
    }

    /// Checks after some of the changes. Call it at the end of each.
    func requireInvariantsNowAndThen() {
      let isPower = changeCount & (changeCount - 1) == 0
      if isPower || changeCount & 4095 == 0 { Invariants.require(checkInvariants) }
    }

    /// Returns the number of objects below a node.
    private func checkInvariants(
      _ node: EditNode, _ open: inout Int
    ) throws(BrokenInvariant) -> UInt64 {
      func broken(_ what: String) -> BrokenInvariant {
        BrokenInvariant(
          what:
            "tree, node of level \(node.level) from key \(node.children.first?.firstKey ?? 0): \(what)"
        )
      }
      var sum: UInt64 = 0
      for child in node.children {
        sum &+= child.count
        switch child.content {
        case .stored: break
        case .node(let inner):
          if inner.level != node.level - 1 { throw broken("has one of level \(inner.level)") }
          if inner.isChanged, !node.isChanged {
            throw broken("has a changed one and is not changed")
          }
          let below = try checkInvariants(inner, &open)
          if below != child.count {
            throw broken("\(below) objects below \(child.firstKey), said to be \(child.count)")
          }
        case .open(let leaf):
          if node.level != 1 { throw broken("has a leaf") }
          if !node.isChanged { throw broken("has an open leaf and is not changed") }
          if case .rows = leaf { open += 1 }
          if UInt64(leaf.count) != child.count {
            throw broken("\(leaf.count) rows from \(child.firstKey), said to be \(child.count)")
          }
        }
      }
      return sum
    }

    private func checkKeys(_ node: EditNode, before end: Int64?) throws(BrokenInvariant) {
      for (index, child) in node.children.enumerated() {
        let next = index + 1 < node.children.count ? node.children[index + 1].firstKey : end
        if let next, child.firstKey >= next {
          throw BrokenInvariant(what: "tree: key \(next) behind \(child.firstKey)")
        }
        switch child.content {
        case .stored, .open(.overlay): break
        case .node(let inner): try checkKeys(inner, before: next)
        case .open(.rows(let cluster)):
          let keys = cluster.rows.keys
          let ascend = zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
          if !ascend || (keys.first ?? .max) < child.firstKey {
            throw BrokenInvariant(what: "tree: the open rows from \(child.firstKey) do not ascend")
          }
          if let next, let last = keys.last, last >= next {
            throw BrokenInvariant(what: "tree: the open row \(last) is not before \(next)")
          }
        }
      }
    }
  }
#endif
