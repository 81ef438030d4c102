#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A system library that is looked up at run time, so that programs that do not use it work without it.
///
/// Thread rule: any thread. The library stays loaded while the process exists.
package struct SystemLibrary: @unchecked Sendable {
  // @unchecked: the handle is never closed, and any thread may look names up in it.
  private let handle: UnsafeMutableRawPointer

  /// Loads the first installed library of the list; nil when none is installed.
  ///
  /// - Parameter names: file names in the system's library folders, or paths.
  package init?(anyOf names: [String]) {
    for name in names {
      if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
        self.handle = handle
        return
      }
    }
    return nil
  }

  /// The function of that name; nil when there is none. `Function` must be its type in C.
  package func function<Function>(_ name: String, as: Function.Type) -> Function? {
    guard let address = dlsym(handle, name),
      MemoryLayout<Function>.size == MemoryLayout<UnsafeMutableRawPointer>.size
    else { return nil }
    return unsafeBitCast(address, to: Function.self)
  }
}

extension System {
  /// Waits until a socket can be read, or also be written to, for at most about `milliseconds`.
  package static func waitForSocket(_ descriptor: Int32, writing: Bool, milliseconds: Int32) {
    var request = pollfd(
      fd: descriptor, events: Int16(POLLIN | (writing ? POLLOUT : 0)), revents: 0)
    _ = call(.poll) { poll(&request, 1, milliseconds) }
  }

  /// Waits until a socket can be written to, for at most about `milliseconds`; input on the socket does not
  /// end the wait.
  package static func waitForRoom(_ descriptor: Int32, milliseconds: Int32) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = call(.poll) { poll(&request, 1, milliseconds) }
  }

  /// Names of PostgreSQL's client library, the most likely first.
  package static var postgreSQLLibraries: [String] {
    #if canImport(Darwin)
      [
        "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
        "/usr/local/opt/libpq/lib/libpq.5.dylib",
      ]
    #else
      ["libpq.so.5"]
    #endif
  }

  /// The machine's name; empty when it has none.
  package static var hostName: String {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
