#if DEBUG
  import Base

  /// Strict mode: with the environment variable SHEAF_STRICT, every version is checked before it becomes
  /// visible.
  extension TransactionState {
    private static let isStrict = System.environment("SHEAF_STRICT") == "1"

    /// A written version is sound, and none of its pages is free in the map. Does not apply to a file that
    /// was damaged before the transaction, or that cannot be read now.
    ///
    /// Checked when a transaction's blocks are written, while no other writer can write.
    ///
    /// - Complexity: O(file).
    func checkWritten(_ record: VersionRecord) throws(BrokenInvariant) {
      guard Self.isStrict, !host.settings.isWrongOnPurpose else { return }
      let (problems, isKnown) = Scheduling.without {
        let problems = self.problems(of: record, host.memory.space)
        return (problems, problems.isEmpty || !self.problems(of: base, nil).isEmpty)
      }
      if isKnown { return }
      throw BrokenInvariant(
        what: "version \(record.version) of '\(host.path)': \(problems.joined(separator: "; "))"
      )
    }

    /// The catalogue stored for the next transaction equals the one that it would read.
    func checkKept(_ kept: Catalogue, _ encoded: [UInt8]) throws(BrokenInvariant) {
      // With many tables this would dominate the time of a test.
      guard kept.tables.count <= 16 else { return }
      let read = encoded.withUnsafeBytes { try? Catalogue(decoding: $0) }
      if read != kept {
        throw BrokenInvariant(what: "the catalogue that is kept is not the one that was written")
      }
    }

    /// - Parameter space: the map, in which all pages of the version must be in use.
    private func problems(of record: VersionRecord, _ space: SpaceMap?) -> [String] {
      let storage = PrereadStorage(parts.storage)
      guard let blocks = try? BlockReader(storage: storage) else { return [] }
      var checker = Checker(record, blocks, isDeep: false)
      checker.checkTables()
      checker.checkExtents()
      if storage.failureCount > 0 { return [] }
      var problems = checker.report.problems
      guard let space, problems.isEmpty else { return problems }
      for (start, end, what) in checker.extents where start < end {
        let pages =
          Int(clamping: start) / Layout.pageBytes...Int(clamping: end - 1) / Layout.pageBytes
        for page in pages where page >= space.pageCount || space.use(of: page).isFree {
          problems.append("page \(page), in which \(what) lies, is free")
        }
      }
      return problems
    }
  }
#endif
