/// One of the hosts that an address names.
struct ServerHost: Sendable, Equatable {
  let name: String
  /// Its number, when the address gives one.
  let address: String
  let port: String

  /// The hosts of a connection, from its options.
  static func list(_ options: [String: String]) -> [ServerHost] {
    func parts(_ name: String) -> [String] {
      (options[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (names, addresses, ports) = (parts("host"), parts("hostaddr"), parts("port"))
    return (0..<max(names.count, addresses.count)).map { index in
      ServerHost(
        name: index < names.count ? names[index] : "",
        address: index < addresses.count ? addresses[index] : "",
        // A single port is that of all hosts.
        port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : "")
    }
  }

  /// True when libpq reports this host by this name and port.
  func isCalled(_ name: String, port: String) -> Bool {
    (self.name.isEmpty ? address : self.name) == name && (self.port.isEmpty || self.port == port)
  }
}

extension LibPQ {
  /// The options of a connection, from the address, the environment or a service's file.
  func options(of handle: Handle) -> [String: String] {
    guard let list = options(handle) else { return [:] }
    defer { freeParsed(list) }
    // Each option is a struct of six pointers and a number; the first pointer is the keyword, the fourth the
    // value.
    let stride = 7 * MemoryLayout<UnsafeRawPointer>.size
    let valueOffset = 3 * MemoryLayout<UnsafeRawPointer>.size
    var place = UnsafeRawPointer(list)
    var options: [String: String] = [:]
    while let keyword = place.load(as: Text?.self) {
      if let value = place.load(fromByteOffset: valueOffset, as: Text?.self) {
        options[String(cString: keyword)] = String(cString: value)
      }
      place += stride
    }
    return options
  }
}
