#if DEBUG
  /// An invariant that is false at the end of an operation. Debug builds only: the files `+Invariants.swift`
  /// have the invariants and when they are checked.
  package struct BrokenInvariant: Error, Equatable {
    /// The object, and what is wrong with it.
    package let what: String

    package init(what: String) { self.what = what }
  }

  /// Checks invariants where an operation ends.
  package enum Invariants {
    /// Ends the process when an invariant is broken, since continuing could overwrite sound data. No content
    /// of a file may break an invariant; a broken one is a defect of the program.
    package static func require(_ check: () throws(BrokenInvariant) -> Void) {
      do {
        try check()
      } catch {
        preconditionFailure("an invariant is broken: \(error.what)")
      }
    }
  }
#endif
