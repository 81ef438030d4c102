/// The place of a field's spelling in an arena of bytes, or the mark that the field is null.
///
/// Eight bytes, so that a parser's matrix of spans (row by row) stays small. An empty spelling has length 0;
/// null has a mark of its own.
///
/// `@usableFromInline`, like its properties: without it, other modules would call the `@inlinable` members
/// for every field.
@usableFromInline
package struct TextSpan: Sendable, Equatable, BitwiseCopyable {
  @usableFromInline package var offset: UInt32
  @usableFromInline package var length: UInt32

  @inlinable @inline(__always)
  package init(offset: UInt32, length: UInt32) {
    self.offset = offset
    self.length = length
  }

  @inlinable @inline(__always)
  package static var null: TextSpan { TextSpan(offset: .max, length: 0) }

  @inlinable @inline(__always)
  package var isNull: Bool { offset == .max }

  /// The offset behind the last byte, of a span that is not null.
  package var end: Int { Int(offset) &+ Int(length) }

  /// The bytes of the span.
  ///
  /// - Precondition: the span is not null, and lies in the arena that begins at `base`.
  @inlinable @inline(__always)
  package func bytes(from base: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + Int(offset), count: Int(length))
  }
}
