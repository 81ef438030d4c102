#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import Base
import Foundation

/// A test's own PostgreSQL server: on a free port of the loopback interface, with its data in a
/// temporary folder. It ends with the process that started it, however that ends.
///
/// Thread rule: one thread at a time.
package final class PostgreSQLServer {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package let port: UInt16
  private let folder: String
  private let programs: String
  private var settings: [String]
  /// The keeper process reads it, and ends the server at its end of file.
  private var leash: Int32?
  private var keeper: ChildProcess?
  private var process: Int32 = 0

  private static let isRoot = getuid() == 0
  /// A server does not run as root; this number is "nobody" everywhere.
  private static let nobody: UInt32 = 65_534

  /// The programs' folder of the newest PostgreSQL; nil if none is installed.
  private static var programs: String? {
    var folders = (System.environment("PATH") ?? "").split(separator: ":").map(String.init)
    for base in [
      "/usr/lib/postgresql", "/usr/local/opt/postgresql", "/opt/homebrew/opt/postgresql",
    ] {
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
      folders += versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map {
        base + "/" + $0 + "/bin"
      }
      folders.append(base + "/bin")
    }
    return folders.first { folder in
      ["initdb", "postgres", "psql"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: folder + "/" + $0)
      }
    }
  }

  /// Starts a server; nil, with a printed line, if none can be started.
  ///
  /// - Parameters:
  ///   - authentication: the method, as in `pg_hba.conf`.
  ///   - settings: as in `postgresql.conf`.
  ///   - isEncrypted: whether connections must be encrypted, by a certificate of its own:
  ///     `certificate`.
  package static func start(
    authentication: String = "trust", settings: [String] = [], isEncrypted: Bool = false
  ) throws -> PostgreSQLServer? {
    guard let programs = Self.programs else {
      print("skipped: PostgreSQL (initdb, postgres and psql) is not installed")
      return nil
    }
    if isRoot, run("setpriv --version").status != 0 {
      print("skipped: a server does not run as root, and setpriv is not there to be somebody else")
      return nil
    }
    guard let port = Sockets.freePort() else {
      print("skipped: no port is to be had on the loopback interface")
      return nil
    }
    let server = PostgreSQLServer(programs, port: port, settings)
    do {
      try server.initialize(authentication)
      if isEncrypted, try !server.makeCertificate() { return nil }
      try server.start()
    } catch {
      print("skipped: no PostgreSQL server is to be had here: \(error)")
      return nil
    }
    return server
  }

  private init(_ programs: String, port: UInt16, _ settings: [String]) {
    self.programs = programs
    self.port = port
    self.settings = settings
    folder = "/tmp/sheaf-postgresql-\(UUID().uuidString)"
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: The server's life

  /// The words that run a command as a user who may run a server.
  private static let prefix =
    isRoot ? "setpriv --reuid=\(nobody) --regid=\(nobody) --clear-groups " : ""

  #if canImport(Darwin)
    private static let undeaf = ""
  #else
    /// What a shell starts in the background ignores SIGQUIT, until it is so far that it has a handler.
    private static let undeaf = "env --default-signal=QUIT "
  #endif

  private func initialize(_ authentication: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if Self.isRoot { chown(folder, Self.nobody, Self.nobody) }
    try Data("sheaf".utf8).write(to: URL(fileURLWithPath: folder + "/password"))
    let result = Self.run(
      "cd / && \(Self.prefix)\(programs)/initdb -D \(folder)/data -U sheaf --no-locale -E UTF8 --no-sync "
        + "--auth=\(authentication) --pwfile=\(folder)/password 2>&1")
    guard result.status == 0 else { throw Failure(description: "initdb: \(result.output)") }
  }

  /// The certificate for `sslrootcert`, which is its own authority.
  package var certificate: String { folder + "/server.crt" }

  /// False, with a printed line, if openssl is missing.
  private func makeCertificate() throws -> Bool {
    let made = Self.run(
      "openssl req -new -x509 -days 2 -nodes -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -out "
        + "\(certificate) -keyout \(folder)/server.key 2>&1 && chmod 600 \(folder)/server.key && chmod 644 "
        + certificate)
    guard made.status == 0 else {
      print("skipped: no certificate is to be had here: \(made.output)")
      return false
    }
    if Self.isRoot { chown(folder + "/server.key", Self.nobody, Self.nobody) }
    let rules = "hostssl all all 127.0.0.1/32 scram-sha-256\n"
    try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/data/pg_hba.conf"))
    settings += ["ssl=on", "ssl_cert_file=\(certificate)", "ssl_key_file=\(folder)/server.key"]
    return true
  }

  /// Starts it again after `stop`, `crash` or `kill`.
  package func start() throws {
    let given = settings.map { " -c '\($0)'" }.joined()
    let command =
      "\(Self.prefix)\(programs)/postgres -D \(folder)/data -p \(port) -c listen_addresses=127.0.0.1 -c "
      + "unix_socket_directories= -c max_connections=60 -c shared_buffers=32MB -c "
      + "max_prepared_transactions=10\(given)"
    // Children of a server that was just killed may still use its memory.
    for _ in 0..<50 {
      let (reading, writing) = try System.pipe()
      let script =
        "cd /; \(Self.undeaf)\(command) > \(folder)/log 2>&1 < /dev/null & echo $!; read end; told=$?; kill "
        + "-QUIT $!; wait $!; [ $told -eq 0 ] || rm -rf \(folder)"
      let child = try System.start("sh", ["-c", script], input: reading)
      System.close(reading)
      (leash, keeper) = (writing, child)
      process = Int32(Self.line(child.output)) ?? 0
      for _ in 0..<200 {
        if Sockets.isListening(port), (try? query("SELECT 1")) == [["1"]] { return }
        if hasEnded { break }
        System.sleep(milliseconds: 50)
      }
      stop()
      System.sleep(milliseconds: 200)
    }
    let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
    throw Failure(description: "postgres does not start: \(log.suffix(500))")
  }

  /// Whether its first process has ended; the keeper waits for it only at the end.
  private var hasEnded: Bool {
    if !System.processIsAlive(process) { return true }
    let state = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
    return state.contains(") Z ")
  }

  private static func line(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(descriptor, &byte, 1) == 1, byte != 0x0A { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Ends it at once without flushing: what was not flushed is lost.
  package func stop() {
    guard let keeper, let leash else { return }
    // Without the message the keeper would remove the folder, too.
    _ = try? Array("end\n".utf8).withUnsafeBytes { try System.write(leash, $0, path: "keeper") }
    System.close(leash)
    _ = try? System.waitForEnd(of: keeper)
    System.close(keeper.output)
    (self.keeper, self.leash) = (nil, nil)
  }

  /// Makes it a standby of a silent primary: it only reads from now on.
  package func becomeStandby() throws {
    stop()
    let path = folder + "/data/standby.signal"
    try Data().write(to: URL(fileURLWithPath: path))
    if Self.isRoot { chown(path, Self.nobody, Self.nobody) }
    try start()
  }

  /// Kills its first process; the others end when they notice.
  package func kill() {
    #if canImport(Darwin)
      Darwin.kill(process, SIGKILL)
    #else
      Glibc.kill(process, SIGKILL)
    #endif
    stop()
  }

  // MARK: Using it

  /// The address of a database.
  package func address(
    user: String = "sheaf", password: String? = nil, database: String = "postgres",
    port: UInt16? = nil
  ) -> String {
    "postgresql://\(user)\(password.map { ":" + $0 } ?? "")@127.0.0.1:\(port ?? self.port)/\(database)"
  }

  /// Runs statements with `psql`. Returns the rows of the last one.
  package func query(_ statements: String) throws -> [[String]] {
    let path = folder + "/query-\(UUID().uuidString)"
    try Data(statements.utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let result = Self.run(
      "PGPASSWORD=sheaf PGCONNECT_TIMEOUT=20 PGOPTIONS='-c statement_timeout=120s' \(programs)/psql -XqAt -F '\u{1F}' -R '\u{1E}' -v ON_ERROR_STOP=1 -f \(path) "
        + "'\(address())' 2>&1")
    guard result.status == 0 else { throw Failure(description: result.output) }
    if result.output.isEmpty || result.output == "\n" { return [] }
    let text = result.output.hasSuffix("\n") ? String(result.output.dropLast()) : result.output
    return text.split(separator: "\u{1E}", omittingEmptySubsequences: false).map {
      $0.split(separator: "\u{1F}", omittingEmptySubsequences: false).map(String.init)
    }
  }

  /// The first field of the first row.
  package func value(_ statements: String) throws -> String {
    try query(statements).first?.first ?? ""
  }

  private static func run(_ command: String) -> (status: Int32?, output: String) {
    guard let child = try? System.start("sh", ["-c", command]) else { return (nil, "") }
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(child.output, &piece, piece.count)
      if count <= 0 { break }
      output += piece[..<count]
    }
    System.close(child.output)
    let ending = try? System.waitForEnd(of: child)
    return (ending?.status, String(decoding: output, as: UTF8.self))
  }
}

extension Sockets {
  /// Whether the port accepts connections.
  package static func isListening(_ port: UInt16) -> Bool {
    guard let descriptor = connect(port: port) else { return false }
    end(descriptor)
    return true
  }
}
