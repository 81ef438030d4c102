/// How many numbers need how many bits, and how long their spellings are together.
struct FrameHistogram: ~Copyable {
  private var room = Scratch<Int>(capacity: 130)

  var counts: UnsafeMutablePointer<Int> { room.pointer }
  var lengths: UnsafeMutablePointer<Int> { room.pointer + 65 }

  mutating func clear() { room.pointer.update(repeating: 0, count: 130) }

  @inline(__always)
  func add(_ width: Int, length: Int) {
    counts[width] &+= 1
    lengths[width] &+= length
  }
}
