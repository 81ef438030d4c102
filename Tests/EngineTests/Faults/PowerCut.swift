import TestSupport
import Testing

@testable import Engine

/// Builds the states of a file that a power cut could leave, from a record of the operations.
///
/// Everything before the beginning of the last flush is there. Of what follows, any part may be: writes
/// torn at sectors of 512 or 4,096 bytes, the new length or the old one, in any order.
struct PowerCut {
  struct State {
    let image: [UInt8]
    /// Contents that may be found: the last promised ones, and those that were on their way after them.
    let allowed: Set<Int>
    let description: String
  }

  let log: [RecordingStorage.Entry]
  var random: SplitMix64

  init(_ log: [RecordingStorage.Entry], seed: UInt64) {
    self.log = log
    random = SplitMix64(seed: seed)
  }

  /// Calls `body` with states for every moment after `start`.
  ///
  /// - Parameters:
  ///   - each: random states for each moment.
  ///   - exhaustive: up to this number of unflushed operations, every subset of them is tried, too.
  mutating func forEachState(
    from start: Int = 0, each: Int, exhaustive: Int = 0, _ body: (State) throws -> Void
  ) rethrows {
    var durable: [UInt8] = []
    var pending: [(position: Int, entry: RecordingStorage.Entry)] = []
    var flushBegan: [Int: Int] = [:]
    var allowed: Set<Int> = [0]
    // A file whose name was never flushed may be missing, or be the file from before a rename.
    var isNamed = false
    var former: (durable: [UInt8], pending: [RecordingStorage.Entry])?
    for (position, entry) in log.enumerated() {
      switch entry {
      case .write, .resize: pending.append((position, entry))
      case .nameFlushed:
        isNamed = true
        former = nil
      case .replaced(let content):
        former = (durable, pending.map(\.entry))
        (durable, pending, isNamed) = (content, [], false)
      case .flushBegan(let number): flushBegan[number] = position
      case .flushEnded(let number):
        let began = flushBegan[number] ?? 0
        if position >= start, pending.count <= exhaustive {
          try forEachSubset(pending.map(\.entry), durable, allowed, position, body)
        }
        for (at, entry) in pending where at < began { Self.apply(entry, to: &durable) }
        pending.removeAll { $0.position < began }
      case .began(let number):
        allowed.insert(number)
      case .acknowledged(let number):
        #expect(isNamed, "entry \(position): promised before the file's name was durable")
        allowed = allowed.filter { $0 >= number }.union([number])
      case .tookOver(let number): allowed = allowed.filter { $0 <= number }
      }
      guard position >= start else { continue }
      for attempt in 0..<each {
        var story = "after entry \(position), attempt \(attempt):"
        // Without a flush of the folder the new name may not be on the disk.
        let earlier = former.flatMap { Bool.random(using: &random) ? $0 : nil }
        var image = earlier?.durable ?? durable
        if earlier != nil { story += " the file from before," }
        survive(earlier?.pending ?? pending.map(\.entry), in: &image, &story)
        try body(State(image: image, allowed: allowed, description: story))
      }
    }
  }

  private func forEachSubset(
    _ entries: [RecordingStorage.Entry], _ durable: [UInt8], _ allowed: Set<Int>,
    _ position: Int, _ body: (State) throws -> Void
  ) rethrows {
    for mask in 0..<(1 << entries.count) {
      var image = durable
      for (index, entry) in entries.enumerated() where mask & (1 << index) != 0 {
        Self.apply(entry, to: &image)
      }
      try body(
        State(
          image: image, allowed: allowed, description: "at entry \(position), subset \(mask)"))
    }
  }

  /// Applies a random part of the operations.
  private mutating func survive(
    _ entries: [RecordingStorage.Entry], in image: inout [UInt8], _ story: inout String
  ) {
    let order = Bool.random(using: &random) ? entries : entries.shuffled(using: &random)
    // All, few, half or most of them survive.
    let chance = [100, 10, 50, 90].randomElement(using: &random) ?? 50
    for entry in order {
      guard Int.random(in: 0..<100, using: &random) < chance else {
        if Int.random(in: 0..<3, using: &random) > 0 { continue }
        tear(entry, in: &image, &story)
        continue
      }
      Self.apply(entry, to: &image)
      story += " \(Self.name(entry))"
    }
  }

  private mutating func tear(
    _ entry: RecordingStorage.Entry, in image: inout [UInt8], _ story: inout String
  ) {
    guard case .write(let offset, let bytes) = entry else { return }
    let sector = Bool.random(using: &random) ? 512 : 4096
    var pieces: [Range<Int>] = []
    var at = offset
    while at < offset + bytes.count {
      let next = min((at / sector + 1) * sector, offset + bytes.count)
      pieces.append(at..<next)
      at = next
    }
    let cut = Int.random(in: 0...pieces.count, using: &random)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: pieces = Array(pieces[..<cut])
    case 1: pieces = Array(pieces[cut...])
    default: pieces = pieces.filter { _ in Bool.random(using: &random) }
    }
    // The new length may not be on the disk: then the bytes beyond it are lost, or the file is just
    // long enough for them.
    if offset + bytes.count > image.count, Bool.random(using: &random) {
      pieces.removeAll { $0.upperBound > image.count }
    }
    for piece in pieces {
      let part = bytes[piece.lowerBound - offset..<piece.upperBound - offset]
      Self.apply(.write(offset: piece.lowerBound, bytes: Array(part)), to: &image)
    }
    story += " torn(\(Self.name(entry)), \(pieces.count) pieces of \(sector))"
  }

  private static func name(_ entry: RecordingStorage.Entry) -> String {
    switch entry {
    case .write(let offset, let bytes): "write(\(bytes.count) at \(offset))"
    case .resize(let length): "resize(\(length))"
    default: ""
    }
  }

  /// Applies the whole operation.
  static func apply(_ entry: RecordingStorage.Entry, to image: inout [UInt8]) {
    switch entry {
    case .write(let offset, let bytes):
      resize(&image, max(image.count, offset + bytes.count))
      image.withUnsafeMutableBytes { target in
        bytes.withUnsafeBytes { source in
          UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + source.count])
            .copyMemory(from: source)
        }
      }
    case .resize(let length): resize(&image, length)
    default: break
    }
  }

  private static func resize(_ image: inout [UInt8], _ length: Int) {
    if length > image.count {
      image.append(contentsOf: [UInt8](repeating: 0, count: length - image.count))
    } else {
      image.removeLast(image.count - length)
    }
  }
}
