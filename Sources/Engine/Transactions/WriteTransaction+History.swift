import Base

/// Keeps versions and tags them.
extension WriteTransaction {
  /// The kept versions, oldest first, with the transaction's changes.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  public var keptVersions: [KeptVersion] {
    get throws { try state.history().kept.map(KeptVersion.init) }
  }

  /// How many versions imports keep automatically; 0: none.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  public var keptVersionsLimit: Int { get throws { Int(try state.history().limit) } }

  /// The description of the change that created the base version; empty when unknown.
  public var baseMadeBy: String { state.catalogue.origin.what }

  /// Sets the description of the new version for lists of versions. It is written only while versions are
  /// kept.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.invalidArgument` for more than 1,000 bytes.
  public func describe(_ what: String) throws {
    try state.checkOpen()
    guard what.utf8.count <= 1000 else {
      throw EngineError.invalidArgument("what makes a version is said in at most 1000 bytes")
    }
    state.madeBy = what
  }

  /// Keeps the version that the transaction began from, and drops the oldest automatically kept versions
  /// beyond `most`. Versions with a tag stay and are not counted.
  ///
  /// A kept version costs only the pages that have changed since, and its list of the versions that were kept
  /// then: some 100 bytes for each of up to 32, and 4 kB of more.
  ///
  /// - Parameter most: the number of versions that stay, at least 1; nil: the number set by
  ///   `keepVersions(_:)`.
  /// - Throws: `EngineError.invalidArgument`, `.transactionEnded`, `.damaged`.
  public func keepBase(most: Int? = nil) throws {
    let limit = try most ?? keptVersionsLimit
    try Self.check(limit)
    if limit == 0 { return }
    try state.keepBase(isAutomatic: true)
    try state.changeHistory { $0.letGo(beyond: limit) }
  }

  /// Keeps the version that the transaction began from like `keepBase(most:)`, unless readers see the same
  /// tables in the newest version that was kept automatically: then that one stands for it. Call it before
  /// any change to these tables.
  ///
  /// - Parameter drops: whether to drop older versions beyond `most`. Otherwise one more stays, for an import
  ///   that may come to nothing; not more, however many do.
  /// - Returns: the version that has these tables and is kept; the base version when none is, as `most` is 0.
  /// - Throws: `EngineError.invalidArgument`, `.transactionEnded`, `.damaged`.
  package func keepBaseOnce(most: Int, drops: Bool) throws -> UInt64 {
    try Self.check(most)
    let known = try state.keptLikeBase()
    if most == 0 { return known ?? baseVersion }
    if known == nil { try state.keepBase(isAutomatic: true) }
    try state.changeHistory { $0.letGo(beyond: drops ? most : most + 1) }
    return known ?? baseVersion
  }

  /// Sets how many versions imports keep automatically from now on, and drops those beyond that number.
  ///
  /// - Parameter limit: 0 to 1,000.
  /// - Throws: `EngineError.invalidArgument`, `.transactionEnded`, `.damaged`.
  public func keepVersions(_ limit: Int) throws {
    try Self.check(limit)
    try state.changeHistory { history in
      history.limit = UInt32(clamping: limit)
      history.letGo(beyond: limit)
    }
  }

  private static func check(_ limit: Int) throws {
    guard limit >= 0, limit <= Int(History.mostKept) else {
      throw EngineError.invalidArgument(
        "\(limit) versions are to be kept: it may be 0 to \(History.mostKept)")
    }
  }

  // MARK: Tags

  /// Gives a version a name that finds and keeps it. It must be a kept version, or the one that the
  /// transaction began from, which is then kept.
  ///
  /// - Parameters:
  ///   - tag: 1 to 100 bytes, without control characters and leading or trailing blanks; neither a number nor
  ///     a moment.
  ///   - version: nil: the version that the transaction began from.
  /// - Returns: the version's number.
  /// - Throws: `EngineError.invalidArgument`, also for a tag that another version has; `.noSuchVersion`,
  ///   `.transactionEnded`, `.damaged`.
  @discardableResult
  public func tag(_ tag: String, version: UInt64? = nil) throws -> UInt64 {
    if let problem = VersionName.problem(withTag: tag) {
      throw EngineError.invalidArgument(problem)
    }
    let number = version ?? baseVersion
    try state.changeHistory { history in
      if number == baseVersion, history.place(of: number) == nil {
        state.keepBase(isAutomatic: false, in: &history)
      }
      guard let place = history.place(of: number) else {
        throw EngineError.noSuchVersion(
          name: "\(number)", newest: baseVersion, kept: history.kept.map(\.record.version))
      }
      if let other = history.place(tagged: tag) {
        if other == place { return }
        throw EngineError.invalidArgument(
          "version \(history.kept[other].record.version) has the tag '\(tag)'; drop it first")
      }
      guard history.kept.count(where: { !$0.tags.isEmpty }) < History.mostTagged else {
        throw EngineError.tooLarge(
          what: "the number of versions with a tag", limit: "\(History.mostTagged)")
      }
      history.kept[place].tags.append(tag)
    }
    return number
  }

  /// Removes a tag. A version that was kept only for its tags is dropped with the last one.
  ///
  /// - Returns: the version's number.
  /// - Throws: `EngineError.noSuchVersion`, `.transactionEnded`, `.damaged`.
  @discardableResult
  public func dropTag(_ tag: String) throws -> UInt64 {
    var number: UInt64 = 0
    try state.changeHistory { history in
      guard let place = history.place(tagged: tag) else {
        throw EngineError.noSuchVersion(
          name: tag, newest: baseVersion, kept: history.kept.map(\.record.version))
      }
      number = history.kept[place].record.version
      history.kept[place].tags.removeAll { $0 == tag }
      if history.kept[place].tags.isEmpty, !history.kept[place].isAutomatic {
        history.kept.remove(at: place)
      }
    }
    return number
  }
}
