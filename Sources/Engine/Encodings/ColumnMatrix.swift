/// One column of a row-major matrix of spans, and the bytes they point into.
///
/// Unsafe: the creator guarantees that the pointers stay valid while it is used. Spans are checked against
/// the arena when they are read.
package struct ColumnMatrix {
  let arena: UnsafeRawBufferPointer
  let spans: UnsafePointer<TextSpan>
  let column: Int
  let stride: Int

  package init(
    arena: UnsafeRawBufferPointer, spans: UnsafePointer<TextSpan>, column: Int = 0,
    stride: Int = 1
  ) {
    self.arena = arena
    self.spans = spans
    self.column = column
    self.stride = stride
  }
}
