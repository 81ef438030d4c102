/// Facts about the spellings of a column.
package struct SpellingFacts: Sendable, Equatable {
  package var nullCount: Int
  /// Row numbers count from the first row of the cluster.
  package var observation = TypeObservation()
  /// The date style of every spelling; nil when there is none, or it was not looked for.
  var dateStyle: DateStyle?

  /// True when every spelling is certainly a value under this reading.
  package func isRead(as reading: Reading) -> Bool {
    dateStyle.map(reading.readsDays) ?? false
  }
}
