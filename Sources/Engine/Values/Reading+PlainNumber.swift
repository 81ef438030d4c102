extension Reading {
  /// Calls `use` with a number as programs write it: a point before the fraction, nothing between thousands,
  /// no blanks around it, and all of its digits.
  ///
  /// - Parameter use: gets the bytes, valid during the call.
  /// - Returns: the result of `use`; nil when the spelling is not a number by this reading.
  /// - Complexity: O(n) in the spelling's length.
  package func withPlainNumber<Result>(
    _ spelling: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    func checked(_ view: SpellingView) -> Result? {
      NumberSpelling.parseDouble(view) == nil
        ? nil : use(UnsafeRawBufferPointer(start: view.pointer, count: view.count))
    }
    let view = SpellingView(spelling)
    guard let notation else {
      return type == .double ? PlainSpelling.read(view, checked) : nil
    }
    return notation.withPlainNumber(view, checked)
  }
}
