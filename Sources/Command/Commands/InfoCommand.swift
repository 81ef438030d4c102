import Engine

/// `sheaf info`: what is in a file, how large it is, and why.
enum InfoCommand {
  static let definition = CommandDefinition(
    name: "info",
    summary: "Tell what is in a database file, how large it is, and why",
    usage: "FILE [--report json]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.report],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    return try DatabaseFile.use(path, .readOnly) { database in
      let snapshot = try database.snapshotForLooking()
      let use = try database.fileUse()
      let readers = try database.activeVersions().flatMap(readers)
      let tables = try snapshot.tableNames.map { try database.tableUse($0) }
      if try arguments.required(CommonOptions.report) == .json {
        try output.write(json(snapshot.version, use, readers, tables).line)
      } else {
        try output.write(text(path, snapshot.version, use, readers, tables))
      }
      if let note = database.recoveryNote {
        StandardError.line("sheaf info: \(path): opened in spite of damage: \(note)")
      }
      return .done
    }
  }

  /// A process that holds a version.
  private struct Reader {
    let version: ActiveVersion
    let holder: ActiveVersion.Holder
  }

  private static func readers(_ version: ActiveVersion) -> [Reader] {
    version.holders.filter { !$0.isThisProcess }.map { Reader(version: version, holder: $0) }
  }

  private static func json(
    _ version: UInt64, _ use: FileUse, _ readers: [Reader], _ tables: [TableUse]
  ) -> JSONValue {
    [
      "command": "info", "format": 1, "version": .int(Int(clamping: version)),
      "file": [
        "total": .int(use.total), "used": .int(use.used), "free": .int(use.free),
        "pinned": .int(use.pinned),
      ],
      "readers": .array(
        readers.map {
          [
            "pid": .int(Int($0.holder.process)), "version": .int(Int(clamping: $0.version.version)),
            "snapshots": .int($0.holder.snapshots), "pinned": .int($0.version.pinnedBytes),
          ]
        }),
      "tables": .array(
        tables.map { table in
          [
            "name": .string(table.name), "objects": .int(table.objects),
            "clusters": .int(table.clusters), "bytes": .int(table.clusterBytes),
            "overlayBytes": .int(table.overlayBytes),
            "key": table.keyColumn.map { .string($0) } ?? .null,
            "indexBytes": .int(table.indexBytes),
            "indexes": .array(
              table.secondaryIndexes.map {
                [
                  "column": .string($0.column), "bytes": .int($0.bytes),
                  "entries": .int($0.entries),
                ]
              }),
            "columns": .array(table.columns.map(json)),
          ]
        }),
    ]
  }

  private static func json(_ column: TableUse.ColumnUse) -> JSONValue {
    [
      "name": .string(column.column.name), "type": .string(column.column.type.name),
      "bytes": .int(column.bytes), "nulls": .int(column.nulls),
      "encodings": .object(
        column.encodings.sorted { $0.key < $1.key }.map {
          .init(key: $0.key, value: .int($0.value))
        }
      ),
    ]
  }

  private static func text(
    _ path: String, _ version: UInt64, _ use: FileUse, _ readers: [Reader], _ tables: [TableUse]
  ) -> String {
    var text =
      "\(StandardError.escaped(path)): \(HumanFormat.size(use.total)), version \(version)\n"
      + "  used \(HumanFormat.size(use.used)), free \(HumanFormat.size(use.free)), "
      + "kept for older versions \(HumanFormat.size(use.pinned))\n"
    for reader in readers {
      text += "  version \(reader.version.version) is held by process \(reader.holder.process)"
      let pinned = reader.version.pinnedBytes
      text += pinned > 0 ? ", and keeps \(HumanFormat.size(pinned)) from reuse\n" : "\n"
    }
    for table in tables {
      text +=
        "\ntable \(StandardError.escaped(table.name)): \(HumanFormat.count(table.objects, "object", "objects")) in "
        + "\(HumanFormat.count(table.clusters, "cluster", "clusters")), "
        + "\(HumanFormat.size(table.clusterBytes))\n"
      if table.overlayBytes > 0 {
        text +=
          "  changed and deleted objects beside them: \(HumanFormat.size(table.overlayBytes))\n"
      }
      if let key = table.keyColumn {
        text +=
          "  primary key \(StandardError.escaped(key)): its index takes "
          + "\(HumanFormat.size(table.indexBytes))\n"
      }
      for index in table.secondaryIndexes {
        text +=
          "  index on \(StandardError.escaped(index.column)): \(HumanFormat.size(index.bytes))\n"
      }
      let names = table.columns.map { StandardError.escaped($0.column.name) }
      let width = names.map(\.count).max() ?? 0
      for (column, name) in zip(table.columns, names) {
        let padding = String(repeating: " ", count: width - name.count)
        let encodings = column.encodings.sorted { $0.value > $1.value }
          .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        text +=
          "  \(name)\(padding)  \(column.column.type.name)  "
          + "\(HumanFormat.size(column.bytes))  (\(encodings))\n"
      }
    }
    return text
  }
}
