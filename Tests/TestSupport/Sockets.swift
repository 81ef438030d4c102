#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sockets of the loopback interface, as far as tests need them.
package enum Sockets {
  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func withAddress(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = address(port)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  private static func make() -> Int32 {
    #if canImport(Darwin)
      return socket(AF_INET, SOCK_STREAM, 0)
    #else
      return socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #endif
  }

  /// A listening socket and its port; nil if there is none.
  package static func listen(port: UInt16 = 0) -> (descriptor: Int32, port: UInt16)? {
    let descriptor = make()
    guard descriptor >= 0 else { return nil }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    guard withAddress(port, { bind(descriptor, $0, $1) }) == 0 else {
      Self.end(descriptor)
      return nil
    }
    #if canImport(Darwin)
      guard Darwin.listen(descriptor, 64) == 0 else { return nil }
    #else
      guard Glibc.listen(descriptor, 64) == 0 else { return nil }
    #endif
    var found = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &found) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length)
      }
    }
    return code == 0 ? (descriptor, UInt16(bigEndian: found.sin_port)) : nil
  }

  /// A port on which nobody listens.
  package static func freePort() -> UInt16? {
    guard let (descriptor, port) = listen() else { return nil }
    end(descriptor)
    return port
  }

  package static func connect(port: UInt16) -> Int32? {
    let descriptor = make()
    #if canImport(Darwin)
      let code = withAddress(port) { Darwin.connect(descriptor, $0, $1) }
    #else
      let code = withAddress(port) { Glibc.connect(descriptor, $0, $1) }
    #endif
    if code == 0 { return descriptor }
    end(descriptor)
    return nil
  }

  package static func accept(_ descriptor: Int32) -> Int32? {
    #if canImport(Darwin)
      let found = Darwin.accept(descriptor, nil, nil)
    #else
      let found = Glibc.accept(descriptor, nil, nil)
    #endif
    return found >= 0 ? found : nil
  }

  /// The next bytes; empty at the end.
  package static func receive(_ descriptor: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : []
  }

  /// False if the other end is gone.
  package static func send(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { raw in
        #if canImport(Darwin)
          return Darwin.send(descriptor, raw.baseAddress.map { $0 + done }, raw.count - done, 0)
        #else
          return Glibc.send(
            descriptor, raw.baseAddress.map { $0 + done }, raw.count - done, Int32(MSG_NOSIGNAL))
        #endif
      }
      if count <= 0 { return false }
      done += count
    }
    return true
  }

  /// Ends the traffic, so that waiting threads go on.
  package static func shut(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

  package static func end(_ descriptor: Int32) { close(descriptor) }
}
