#if DEBUG
  /// What must hold at the end of an operation, and does not. Debug builds only: the files
  /// `+Invariants.swift` say what is looked at, and when.
  package struct BrokenInvariant: Error, Equatable {
    /// Of whom, and what is wrong.
    package let what: String

    package init(what: String) { self.what = what }
  }

  /// Looks at invariants where an operation ends.
  package enum Invariants {
    /// Ends the process when one is broken: going on could write over what is sound. Whatever a
    /// file says, all of them hold; a broken one is a defect of the program.
    package static func require(_ check: () throws(BrokenInvariant) -> Void) {
      do {
        try check()
      } catch {
        preconditionFailure("an invariant is broken: \(error.what)")
      }
    }
  }
#endif
