import Importer
import Engine

/// Prints the facts of `sheaf info` for people: the bytes as bars, and a sentence about each term.
struct InfoPrinter {
  let info: DatabaseInfo
  /// Columns of the terminal, or the width for files.
  let width: Int
  let isUnicode: Bool
  /// True when headings may be bold.
  let isRich: Bool

  private static let narrowest = 40
  private static let widest = 110
  private var room: Int { min(max(width, Self.narrowest), Self.widest) }

  var text: String {
    var text = "\(StandardError.escaped(info.path)): \(HumanFormat.size(info.use.total)), "
    text += "format \(info.format), version \(info.version)\n"
    if info.isNewest { text += file }
    if info.isNewest {
      for reader in info.readers { text += self.text(reader) }
      text += kept
      for pending in info.pending { text += self.text(pending) }
    }
    for table in info.tables { text += self.text(table) }
    text += legend
    if info.isNewest { text += compaction }
    return text
  }

  private func heading(_ text: String) -> String {
    let lines = HelpText.lines(of: text, width: room)
    return "\n" + lines.map { isRich ? "\u{1B}[1m\($0)\u{1B}[0m\n" : $0 + "\n" }.joined()
  }

  /// A sentence, indented, in as many lines as it needs.
  private func sentence(_ text: String, indent: Int = 2) -> String {
    let margin = String(repeating: " ", count: indent)
    return HelpText.lines(of: text, width: room - indent).map { margin + $0 + "\n" }.joined()
  }

  // MARK: The file

  private var file: String {
    let parts = info.parts
    let rows: [(name: String, bytes: Int, meaning: String)] = [
      ("objects", parts.objects, "the values of all objects, column by column"),
      ("changes", parts.changes, "changed and deleted objects, until there are many"),
      ("indexes", parts.indexes, "primary keys and secondary indexes"),
      ("structure", parts.structure, "the tree, schemas, notes, and ends of pages"),
      ("kept", parts.kept, "older versions that are kept"),
      ("pinned", parts.pinned, "older versions that somebody holds"),
      ("free", parts.free, "will be written to next; a compaction gives it back"),
    ]
    var text = heading("Where the bytes are")
    let shown = rows.filter { $0.bytes > 0 || $0.name == "free" }
    let names = shown.map(\.name.count).max() ?? 0
    let sizes = shown.map { HumanFormat.size($0.bytes).count }.max() ?? 0
    // Name, size and share, each after two blanks; the meaning if there is room.
    let taken = 2 + names + 2 + sizes + 2 + 4
    let meanings = shown.map(\.meaning.count).max() ?? 0
    let hasMeanings = room - taken - meanings - 4 >= 8
    let bar = TextBar(
      isUnicode: isUnicode, width: min(24, room - taken - 2 - (hasMeanings ? meanings + 2 : 0)))
    for row in shown {
      let drawn = bar.text(row.bytes, of: info.use.total)
      var line =
        "  \(Self.left(row.name, names))  \(Self.right(HumanFormat.size(row.bytes), sizes))"
      line += "  \(Self.share(row.bytes, info.use.total))  \(Self.left(drawn, bar.width))"
      if hasMeanings { line += "  " + row.meaning }
      text += Self.trimmed(line) + "\n"
    }
    // Every file has some gaps.
    if parts.gaps > info.use.total / 10 {
      text += sentence(
        "\(HumanFormat.size(parts.gaps)) of the structure are gaps between blocks; "
          + "a compaction gives them back."
      )
    }
    return text
  }

  private func text(_ reader: DatabaseInfo.Reader) -> String {
    let held =
      "version \(reader.version.version) is held by process \(reader.holder.process) ("
      + HumanFormat.count(reader.holder.snapshots, "snapshot", "snapshots") + ")"
    let pinned = reader.version.pinnedBytes
    return sentence(
      pinned > 0
        ? "\(held), and keeps \(HumanFormat.size(pinned)) from reuse until it is released."
        : "\(held); it keeps nothing from reuse.")
  }

  private var kept: String {
    guard info.keptVersions > 0 else { return "" }
    return sentence(
      "\(HumanFormat.count(info.keptVersions, "older version is", "older versions are")) kept, and "
        + "\(info.keptVersions == 1 ? "takes" : "take") \(HumanFormat.size(info.parts.kept)) that the newest "
        + "does not have: sheaf versions.")
  }

  private func text(_ pending: PendingTable) -> String {
    let name = StandardError.escaped(pending.name)
    let by = pending.madeBy.isEmpty ? "" : ", by \(StandardError.escaped(pending.madeBy))"
    let begun = pending.begun.map { ", begun at \($0)" } ?? ""
    return sentence(
      "Table \(name) is being made anew, and nobody sees it yet: "
        + "\(HumanFormat.count(pending.objects, "object", "objects")) so far\(begun)\(by). The import "
        + "goes on with --resume; sheaf import --abandon drops it.")
  }

  // MARK: Tables

  private func text(_ table: TableUse) -> String {
    var text = heading(
      "table \(StandardError.escaped(table.name)): "
        + "\(HumanFormat.count(table.objects, "object", "objects")) in "
        + "\(HumanFormat.count(table.clusters, "cluster", "clusters")), "
        + HumanFormat.size(table.clusterBytes))
    if table.overlayBytes > 0 {
      text += sentence(
        "Changed and deleted objects beside them take \(HumanFormat.size(table.overlayBytes)).")
    }
    if !table.keyColumns.isEmpty {
      let key = table.keyColumns.map { StandardError.escaped($0) }.joined(separator: ", ")
      text += sentence(
        "The primary key is \(key); its index takes "
          + "\(HumanFormat.size(table.indexBytes)).")
    }
    for index in table.secondaryIndexes {
      text += sentence(
        "An index on \(StandardError.escaped(index.column)) takes \(HumanFormat.size(index.bytes))."
      )
    }
    return text + columns(table)
  }

  private func columns(_ table: TableUse) -> String {
    let rows = table.columns.sorted { $0.bytes > $1.bytes }
    let types = rows.map(\.column.type.name.count).max() ?? 0
    let sizes = rows.map { HumanFormat.size($0.bytes).count }.max() ?? 0
    let fixed = 2 + 2 + types + 2 + sizes + 2 + 4 + 2
    let longest = rows.map { DisplayWidth.of(StandardError.escaped($0.column.name)) }.max() ?? 0
    let names = min(longest, max(8, room - fixed - 8), 32)
    // Encodings if there is room for a bar beside them; otherwise the bar gets the room.
    let rest = room - fixed - names
    let bar = TextBar(
      isUnicode: isUnicode, width: rest < 14 ? max(0, rest) : min(20, max(4, rest - 26)))
    var text = ""
    for column in rows {
      let name = cut(StandardError.escaped(column.column.name), to: names)
      let drawn = bar.text(column.bytes, of: table.clusterBytes)
      var line = "  \(Self.left(name, names))  \(Self.left(column.column.type.name, types))"
      line += "  \(Self.right(HumanFormat.size(column.bytes), sizes))"
      line += "  \(Self.share(column.bytes, table.clusterBytes))  \(Self.left(drawn, bar.width))"
      let left = rest - bar.width - 2
      let notation = column.column.notation.map {
        "; spelled \(StandardError.escaped($0.description))"
      }
      if left >= 8 { line += "  " + cut(encodings(column) + (notation ?? ""), to: left) }
      text += Self.trimmed(line) + "\n"
    }
    return text
  }

  /// `symbol text 95%, dictionary 5%`, the largest first; `dictionary` when there is one.
  private func encodings(_ column: TableUse.ColumnUse) -> String {
    let sorted = column.encodingBytes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    if sorted.count == 1 { return sorted[0].key }
    return sorted.map { "\($0.key) \(Self.share($0.value, column.bytes).drop { $0 == " " })" }
      .joined(separator: ", ")
  }

  private var legend: String {
    let used = Set(info.tables.flatMap { $0.columns.flatMap { $0.encodings.keys } })
    let known = Self.meanings.filter { used.contains($0.name) }
    if known.isEmpty { return "" }
    let names = known.map(\.name.count).max() ?? 0
    var text = heading("How columns are stored")
    for entry in known {
      let lines = HelpText.lines(of: entry.meaning, width: room - names - 4)
      for (index, line) in lines.enumerated() {
        text += "  \(Self.left(index == 0 ? entry.name : "", names))  \(line)\n"
      }
    }
    return text
  }

  private static let meanings: [(name: String, meaning: String)] = [
    ("constant", "All objects of a cluster have one value, which is stored once."),
    (
      "integers",
      "Whole numbers as distances from the smallest or from the one before, in few bits."
    ),
    ("decimals", "Decimal numbers as whole ones and a count of decimals, in few bits."),
    ("doubles", "Numbers in eight bytes each, because their spelling follows no simpler rule."),
    ("dictionary", "Every different value once, and a short number for each object."),
    ("dates", "Days as whole numbers, and the style they were written in once."),
    ("date-times", "Moments as whole numbers, and the style they were written in once."),
    ("packed text", "The texts one after the other, and their lengths in few bits."),
    (
      "symbol text",
      "Texts of few digits in some bits each, or in which frequent sequences of letters take a byte or so."
    ),
  ]

  // MARK: Compaction

  private var compaction: String {
    var text = heading("What a compaction would give")
    guard let estimate = info.estimate else {
      return text + sentence("Unknown: \(info.estimateProblem ?? "nothing was measured").")
    }
    let saved = estimate.before - estimate.after
    // A saving within the error of the estimate is no reason to rewrite a file.
    if saved <= max(estimate.before / 20, min(estimate.possibleError, estimate.before / 8)) {
      text += sentence("About nothing: the file would be about as large as it is.")
    } else {
      text += sentence(
        "About \(HumanFormat.size(estimate.after)), which is \(HumanFormat.size(saved)) "
          + "(\(Self.share(saved, estimate.before).drop { $0 == " " })) less: sheaf compact "
          + StandardError.escaped(ShellWord.quoted(info.path)))
    }
    if estimate.objects > 0 {
      let sample =
        estimate.sampledObjects == estimate.objects
        ? "An estimate: all objects were"
        : "An estimate from a sample: \(HumanFormat.count(estimate.sampledObjects)) of "
          + "\(HumanFormat.count(estimate.objects, "object", "objects")), at "
          + "\(HumanFormat.count(estimate.places, "place", "places")), were"
      text += sentence(
        "\(sample) encoded as a compaction would, in "
          + "\(HumanFormat.duration(seconds: info.estimateSeconds)), and the result thrown away. "
          + "It may be off by \(HumanFormat.size(estimate.possibleError)).")
    }
    if info.keptVersions > 0 {
      text += sentence(
        "That is without the versions that are kept (--drop-versions); sheaf compact by itself keeps "
          + "them, with what they share, and merges no clusters then.")
    }
    if !info.readers.isEmpty {
      text += sentence(
        "It needs the file for itself: not before the readers above are done. sheaf compact --into "
          + "makes a compact copy at any time.")
    }
    return text
  }

  // MARK: Layout

  private func cut(_ text: String, to width: Int) -> String {
    if DisplayWidth.of(text) <= width { return text }
    if isUnicode { return DisplayWidth.cut(text, to: width) }
    return String(text.prefix(max(0, width - 2))) + ".."
  }

  private static func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func trimmed(_ line: String) -> String {
    let blanks = line.reversed().prefix { $0 == " " }.count
    return String(line.dropLast(blanks))
  }

  /// Four characters: ` 45%`, ` <1%`.
  private static func share(_ part: Int, _ whole: Int) -> String {
    guard whole > 0 else { return "  0%" }
    let percent = Double(part) / Double(whole) * 100
    if part > 0, percent < 0.5 { return " <1%" }
    return right(HumanFormat.fixed(min(percent, 100), decimals: 0) + "%", 4)
  }
}
