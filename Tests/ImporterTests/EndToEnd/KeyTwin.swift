@testable import Importer

/// An import with a primary key, as slow and obvious as can be: a dictionary, one record at a time.
struct KeyTwin {
  /// nil: null; an empty array: an empty string.
  typealias Field = [UInt8]?

  private(set) var columns: [String]
  private(set) var objects: [[Field]] = []
  private var places: [[[UInt8]]: Int] = [:]
  private let keys: [String]
  private(set) var imported = 0
  private(set) var updated = 0
  private(set) var skipped = 0
  private(set) var unchanged = 0
  private(set) var rejects: [[UInt8]] = []

  init(columns: [String], key: String) { self.init(columns: columns, keys: [key]) }

  init(columns: [String], keys: [String]) {
    self.columns = columns
    self.keys = keys
  }

  /// Nil if a part is null or empty.
  private func key(_ fields: [Field], _ names: [String]) -> [[UInt8]]? {
    let parts = keys.compactMap { key in names.firstIndex(of: key).flatMap { fields[$0] } }
    return parts.count == keys.count && !parts.contains([]) ? parts : nil
  }

  /// Applies CSV whose first record is the header; surplus fields make columns.
  mutating func apply(_ csv: [UInt8], _ policy: ConflictPolicy) {
    apply(csv, ConflictRule(policy: policy))
  }

  mutating func apply(_ csv: [UInt8], _ rule: ConflictRule) {
    let records = ReferenceParser(csv).records
    guard let header = records.first else { return }
    let names = header.fields.map { String(decoding: $0 ?? [], as: UTF8.self) }
    // Columns are added with their input, whatever becomes of its records.
    for name in names where !columns.contains(name) { add(name) }
    for record in records.dropFirst() {
      let original = Array(csv[record.start..<record.end])
      if record.problem != nil {
        rejects.append(original)
        continue
      }
      if record.fields.count > names.count {
        for index in names.count..<record.fields.count {
          let name = "extra\(index - names.count + 1)"
          if !columns.contains(name) { add(name) }
        }
      }
      guard let key = key(record.fields, names) else {
        rejects.append(original)
        continue
      }
      apply(record.fields, names, key, original, rule)
    }
  }

  private mutating func add(_ name: String) {
    columns.append(name)
    for index in objects.indices { objects[index].append(nil) }
  }

  private mutating func apply(
    _ fields: [Field], _ names: [String], _ key: [[UInt8]], _ original: [UInt8],
    _ rule: ConflictRule
  ) {
    guard let place = places[key] else {
      places[key] = objects.count
      objects.append(changed([Field](repeating: nil, count: columns.count), fields, names))
      imported += 1
      return
    }
    switch rule.policy {
    case .error: rejects.append(original)
    case .skip: skipped += 1
    case .replace, .update:
      let empty = [Field](repeating: nil, count: columns.count)
      var object = changed(rule.policy == .update ? objects[place] : empty, fields, names)
      if rule.ignoresBlanks {
        for (index, name) in columns.enumerated() where object[index] ?? [] == [] {
          if names.contains(name) { object[index] = objects[place][index] }
        }
      }
      if object == objects[place] {
        unchanged += 1
      } else if let column = rule.newerThan.flatMap({ columns.firstIndex(of: $0) }),
        !isNewer(
          names.firstIndex(of: columns[column]).flatMap { fields[$0] }, objects[place][column])
      {
        skipped += 1
      } else {
        updated += 1
        objects[place] = object
      }
    }
  }

  /// Deletes the objects whose keys the CSV lacks.
  mutating func deleteMissing(from csv: [UInt8]) {
    let records = ReferenceParser(csv).records
    let names = records.first?.fields.map { String(decoding: $0 ?? [], as: UTF8.self) } ?? []
    let found = Set(records.dropFirst().compactMap { key($0.fields, names) })
    objects = objects.filter { key($0, columns).map(found.contains) ?? false }
    places = [:]
    for (place, object) in objects.enumerated() {
      if let key = key(object, columns) { places[key] = place }
    }
  }

  /// For ints.
  private func isNewer(_ field: Field, _ present: Field) -> Bool {
    func number(_ field: Field) -> Int? {
      field.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
    return number(field).map { $0 > number(present) ?? .min } ?? false
  }

  private func changed(_ object: [Field], _ fields: [Field], _ names: [String]) -> [Field] {
    var object = object
    for (index, name) in columns.enumerated() {
      if let position = names.firstIndex(of: name) {
        object[index] = fields[position]
      } else if name.hasPrefix("extra"), let surplus = Int(name.dropFirst(5)),
        names.count + surplus <= fields.count, let value = fields[names.count + surplus - 1]
      {
        object[index] = value
      }
    }
    return object
  }

  /// The table as an export writes it.
  var csv: String {
    let rows = objects.map { object in
      object.map { field in
        field.map { field in
          let text = String(decoding: field, as: UTF8.self)
          let isPlain = !text.isEmpty && !text.contains { "\",\n\r".contains($0) }
          return isPlain
            ? text
            : "\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
        } ?? ""
      }.joined(separator: ",")
    }
    return ([columns.joined(separator: ",")] + rows).map { $0 + "\n" }.joined()
  }
}
