import Testing
import TestSupport

@testable import Engine

/// The classes of spellings, compared with `SlowClassifier`.
@Suite struct ClassificationTests {
  private func classify(_ bytes: [UInt8]) -> TypeSet {
    bytes.withUnsafeBytes { SpellingClass.classify(SpellingView($0)) }
  }

  @Test(
    "A spelling has the class that the slow classifier gives it",
    arguments: [1, 2, 3, 4] as [UInt64])
  func agreesWithTheSlowClassifier(seed: UInt64) {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    for text in ColumnGenerator.nearNumbers + ColumnGenerator.nearDates {
      let bytes = Array(text.utf8)
      #expect(classify(bytes) == SlowClassifier.classify(bytes), "\(text)")
    }
    for _ in 0..<3000 {
      let kind = Int.random(in: 0..<ColumnGenerator.kinds, using: &generator.random)
      var bytes = generator.spelling(kind: kind)
      // A single changed byte makes near misses.
      if !bytes.isEmpty, Int.random(in: 0..<3, using: &generator.random) == 0 {
        let byte = Array("0123456789.-+eETZ: :x".utf8).randomElement(using: &generator.random)
        bytes[Int.random(in: bytes.indices, using: &generator.random)] = byte ?? 0
      }
      #expect(classify(bytes) == SlowClassifier.classify(bytes), "seed \(seed): \(bytes)")
    }
  }

  /// Numbers of any length with signs where a UUID has its first hyphens, at one or both of the places.
  @Test func signsWhereIdentifiersHaveHyphens() {
    var random = SplitMix64(seed: 11)
    for round in 0..<4000 {
      let count = Int.random(in: 9...40, using: &random)
      var bytes = (0..<count).map { _ in UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &random)
      }
      if round % 2 == 0 { bytes[Int.random(in: 0..<count, using: &random)] = UInt8(ascii: ".") }
      for place in [8, 13] where place < count && Bool.random(using: &random) {
        bytes[place] = UInt8(ascii: "-")
        if round % 3 > 0 { bytes[place - 1] = UInt8(ascii: "e") }
      }
      #expect(classify(bytes) == SlowClassifier.classify(bytes), "\(bytes)")
    }
  }

  /// A class says that a spelling reads as a type exactly if reading succeeds.
  @Test(arguments: [5, 6] as [UInt64])
  func classesSayWhatFits(seed: UInt64) {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    for _ in 0..<3000 {
      let kind = Int.random(in: 0..<ColumnGenerator.kinds, using: &generator.random)
      let bytes = generator.spelling(kind: kind)
      let set = classify(bytes)
      for type in [ColumnType.int, .double, .bool, .date, .dateTime] {
        let fits = Value(spelling: bytes, type: type) != nil
        #expect(set.fits(type) == fits, "seed \(seed): \(bytes) as \(type)")
      }
    }
  }

  @Test("The type of a column follows from the classes of its values")
  func inference() {
    let cases: [(TypeSet, ColumnType?)] = [
      ([], nil), (.bool, .bool), (.int, .int), ([.int, .bigInt], .int), (.bigInt, .int),
      ([.int, .double], .double), (.double, .double), ([.int, .double, .bigInt], .text),
      (.longDecimal, .text), (.date, .date), (.dateTime, .dateTime),
      ([.date, .dateTime], .dateTime),
      ([.bool, .int], .text), (.text, .text), ([.int, .text], .text),
    ]
    for (set, type) in cases { #expect(set.inferredType == type) }
  }

  @Test("Observations keep the first row of each class")
  func observationsKeepFirstRows() {
    var observation = TypeObservation()
    observation.insert(.int, row: 3)
    observation.insert(.int, row: 7)
    observation.insert(.text, row: 102)
    #expect(observation.firstRow(of: .int) == 3)
    #expect(observation.firstRow(of: .text) == 102)
    #expect(observation.firstRow(of: .date) == nil)
    #expect(observation.classes.inferredType == .text)
  }
}
