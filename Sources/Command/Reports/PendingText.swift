import Engine

extension PendingTable {
  var json: JSONValue {
    [
      "table": .string(name), "objects": .int(objects),
      "begun": .optional(begun) { .string("\($0)") }, "since": .int(Int(clamping: since)),
      "by": .string(madeBy),
    ]
  }

  /// A description for people.
  var text: String {
    "\(HumanFormat.count(objects, "object", "objects")) that readers do not see yet: --resume goes on with "
      + "them, sheaf import --abandon drops them"
  }
}
