#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Base
import Foundation

/// pgbouncer before a server: it runs each transaction on one of a few connections, and ends with the
/// process that started it.
///
/// Thread rule: one thread at a time.
package final class ConnectionPool {
  package let port: UInt16
  private let folder = "/tmp/sheaf-pool-\(UUID().uuidString)"
  private var leash: Int32
  private let keeper: ChildProcess

  /// Nil, with a printed line, if it cannot be started.
  ///
  /// - Parameter size: the number of the pool's connections to the server.
  package init?(before server: UInt16, size: Int) throws {
    let places =
      (System.environment("PATH") ?? "").split(separator: ":").map(String.init) + ["/usr/sbin"]
    guard
      let program = places.map({ $0 + "/pgbouncer" }).first(
        where: FileManager.default.isExecutableFile)
    else {
      print("skipped: pgbouncer is not installed")
      return nil
    }
    guard let port = Sockets.freePort() else {
      print("skipped: no port is to be had on the loopback interface")
      return nil
    }
    self.port = port
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let settings = """
      [databases]
      * = host=127.0.0.1 port=\(server)
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = \(port)
      unix_socket_dir =
      auth_type = any
      pool_mode = transaction
      default_pool_size = \(size)
      ignore_startup_parameters = extra_float_digits
      """
    // pgbouncer needs no list of users: every user is the server's own.
    try Data(settings.replacing("* = ", with: "* = user=sheaf ").utf8).write(
      to: URL(fileURLWithPath: folder + "/pool.ini"))
    let prefix =
      getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
    if getuid() == 0 { chown(folder, 65_534, 65_534) }
    let script =
      "cd /; \(prefix)\(program) \(folder)/pool.ini > \(folder)/log 2>&1 < /dev/null & read end; kill -TERM "
      + "$!; sleep 0.1; kill -KILL $! 2> /dev/null; wait $!; rm -rf \(folder)"
    let (reading, writing) = try System.pipe()
    keeper = try System.start("sh", ["-c", script], input: reading)
    System.close(reading)
    leash = writing
    for _ in 0..<100 where !Sockets.isListening(port) { System.sleep(milliseconds: 50) }
    guard Sockets.isListening(port) else {
      let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
      print("skipped: pgbouncer does not start: \(log.suffix(300))")
      return nil
    }
  }

  deinit {
    System.close(leash)
    _ = try? System.waitForEnd(of: keeper)
    System.close(keeper.output)
  }
}
