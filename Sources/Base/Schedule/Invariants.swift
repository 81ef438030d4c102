#if DEBUG
  /// An invariant that does not hold at the end of an operation. Debug builds only: the files
  /// `+Invariants.swift` list the invariants and the moments of their checks.
  package struct BrokenInvariant: Error, Equatable {
    /// Which object, and what is wrong with it.
    package let what: String

    package init(what: String) { self.what = what }
  }

  /// Checks invariants where an operation ends.
  package enum Invariants {
    /// Ends the process when an invariant is broken: going on could overwrite sound data. No content of a
    /// file may break one; a broken one is a defect of the program.
    package static func require(_ check: () throws(BrokenInvariant) -> Void) {
      do {
        try check()
      } catch {
        preconditionFailure("an invariant is broken: \(error.what)")
      }
    }
  }
#endif
