#if DEBUG
  import Base

  /// Strict mode: the environment variable SHEAF_STRICT has every version checked before it is
  /// shown to anybody.
  extension TransactionState {
    private static let isStrict = System.environment("SHEAF_STRICT") == "1"

    /// A version that was written is sound, and the map of free pages has none of its pages for
    /// free. A file that was damaged before the transaction, or that cannot be read just now, says
    /// nothing of it.
    ///
    /// Looked at when a transaction's blocks are written, while nobody else can write.
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

    /// What the next transaction takes for the catalogue is what it would read.
    func checkKept(_ kept: Catalogue, _ encoded: [UInt8]) throws(BrokenInvariant) {
      // Many take a test longer than all else.
      guard kept.tables.count <= 16 else { return }
      let read = encoded.withUnsafeBytes { try? Catalogue(decoding: $0) }
      if read != kept {
        throw BrokenInvariant(what: "the catalogue that is kept is not the one that was written")
      }
    }

    /// - Parameter space: what has to have all pages of the version in use.
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
