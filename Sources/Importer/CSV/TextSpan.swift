/// A field as a byte range of its chunk's memory; or null.
package struct TextSpan: Sendable, Equatable {
  /// First byte, relative to the chunk's memory; `UInt32.max` for null.
  package var offset: UInt32
  package var length: UInt32

  @inline(__always)
  package init(offset: UInt32, length: UInt32) {
    self.offset = offset
    self.length = length
  }

  package static let null = TextSpan(offset: .max, length: 0)

  package var isNull: Bool { offset == .max }
}
