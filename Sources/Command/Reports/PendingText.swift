import Engine

extension PendingTable {
  var json: JSONValue {
    [
      "table": .string(name), "objects": .int(objects),
      "begun": .optional(begun) { .string("\($0)") }, "since": .int(Int(clamping: since)),
      "by": .string(madeBy),
    ]
  }

  /// What a person should know of it.
  var text: String {
    "\(HumanFormat.count(objects, "object", "objects")) that readers do not see yet: --resume goes on with "
      + "them, sheaf import --abandon drops them"
  }
}
