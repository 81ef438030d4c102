import Base

/// The functions of libpq that the importer calls, found at run time: building Sheaf needs nothing of
/// PostgreSQL.
///
/// `$SHEAF_LIBPQ` names a file to load instead of the system's.
///
/// Thread rule: plain functions; a connection is used by one thread at a time.
struct LibPQ: @unchecked Sendable {
  // @unchecked: addresses of functions in a library that stays loaded.
  typealias Handle = OpaquePointer
  typealias Text = UnsafePointer<CChar>

  let parse:
    @convention(c) (Text, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) ->
      UnsafeMutableRawPointer?
  let freeParsed: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let freeMemory: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let connect: @convention(c) (UnsafePointer<Text?>, UnsafePointer<Text?>, Int32) -> Handle?
  let connectPoll: @convention(c) (Handle) -> Int32
  let options: @convention(c) (Handle) -> UnsafeMutableRawPointer?
  let host: @convention(c) (Handle) -> Text?
  let port: @convention(c) (Handle) -> Text?
  let finish: @convention(c) (Handle) -> Void
  let socket: @convention(c) (Handle) -> Int32
  let status: @convention(c) (Handle) -> Int32
  let errorMessage: @convention(c) (Handle) -> Text?
  let setVerbosity: @convention(c) (Handle, Int32) -> Int32
  let setNonblocking: @convention(c) (Handle, Int32) -> Int32
  let setNoticeReceiver:
    @convention(c) (
      Handle, @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void,
      UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer?
  let transactionStatus: @convention(c) (Handle) -> Int32
  let serverVersion: @convention(c) (Handle) -> Int32
  let parameter: @convention(c) (Handle, Text) -> Text?
  let sendQuery: @convention(c) (Handle, Text) -> Int32
  let sendQueryParams:
    @convention(c) (
      Handle, Text, Int32, UnsafePointer<UInt32>?, UnsafePointer<Text?>?, UnsafePointer<Int32>?,
      UnsafePointer<Int32>?, Int32
    ) -> Int32
  let flush: @convention(c) (Handle) -> Int32
  let consumeInput: @convention(c) (Handle) -> Int32
  let isBusy: @convention(c) (Handle) -> Int32
  let getResult: @convention(c) (Handle) -> OpaquePointer?
  let clear: @convention(c) (OpaquePointer) -> Void
  let resultStatus: @convention(c) (OpaquePointer) -> Int32
  let resultError: @convention(c) (OpaquePointer, Int32) -> Text?
  let resultMessage: @convention(c) (OpaquePointer) -> Text?
  let commandTag: @convention(c) (OpaquePointer) -> Text?
  let commandTuples: @convention(c) (OpaquePointer) -> Text?
  let rowCount: @convention(c) (OpaquePointer) -> Int32
  let columnCount: @convention(c) (OpaquePointer) -> Int32
  let columnName: @convention(c) (OpaquePointer, Int32) -> Text?
  let columnType: @convention(c) (OpaquePointer, Int32) -> UInt32
  let value: @convention(c) (OpaquePointer, Int32, Int32) -> Text?
  let valueLength: @convention(c) (OpaquePointer, Int32, Int32) -> Int32
  let isNull: @convention(c) (OpaquePointer, Int32, Int32) -> Int32
  let putCopyData: @convention(c) (Handle, UnsafeRawPointer?, Int32) -> Int32
  let putCopyEnd: @convention(c) (Handle, Text?) -> Int32
  let getCopyData:
    @convention(c) (Handle, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, Int32) -> Int32

  /// Result codes of the functions, from libpq's header: part of its ABI.
  enum Code {
    static let connectionOK: Int32 = 0
    static let pollingReading: Int32 = 1
    static let pollingWriting: Int32 = 2
    static let pollingOK: Int32 = 3
    static let verbose: Int32 = 2
    /// A statement runs, or a transaction is open, failed or not.
    static let inTransaction: ClosedRange<Int32> = 1...3
    static let emptyQuery: Int32 = 0
    static let commandOK: Int32 = 1
    static let tuplesOK: Int32 = 2
    static let copyOut: Int32 = 3
    static let copyIn: Int32 = 4
    static let sqlState = Int32(UInt8(ascii: "C"))
    static let message = Int32(UInt8(ascii: "M"))
    static let detail = Int32(UInt8(ascii: "D"))
    static let context = Int32(UInt8(ascii: "W"))
  }

  /// - Throws: `ServerError` of the kind `missing` when there is no libpq, or one older than version 10.
  static func load() throws(ServerError) -> LibPQ {
    let given = System.environment("SHEAF_LIBPQ").flatMap { $0.isEmpty ? nil : $0 }
    let names = given.map { [$0] } ?? System.postgreSQLLibraries
    guard let library = SystemLibrary(anyOf: names) else {
      throw ServerError(
        .missing,
        "the client library of PostgreSQL cannot be loaded (\(names.joined(separator: ", "))): install "
          + "libpq (Debian and Ubuntu: libpq5; Fedora: libpq; Alpine: libpq; macOS: brew install libpq), or "
          + "name its file in SHEAF_LIBPQ")
    }
    return try LibPQ(library)
  }

  private init(_ library: SystemLibrary) throws(ServerError) {
    func find<Function>(_ name: String) throws(ServerError) -> Function {
      if let function = library.function(name, as: Function.self) { return function }
      throw ServerError(
        .missing, "the client library of PostgreSQL has no \(name); install libpq 10 or newer")
    }
    parse = try find("PQconninfoParse")
    freeParsed = try find("PQconninfoFree")
    freeMemory = try find("PQfreemem")
    connect = try find("PQconnectStartParams")
    connectPoll = try find("PQconnectPoll")
    options = try find("PQconninfo")
    host = try find("PQhost")
    port = try find("PQport")
    finish = try find("PQfinish")
    socket = try find("PQsocket")
    status = try find("PQstatus")
    errorMessage = try find("PQerrorMessage")
    setVerbosity = try find("PQsetErrorVerbosity")
    setNonblocking = try find("PQsetnonblocking")
    setNoticeReceiver = try find("PQsetNoticeReceiver")
    transactionStatus = try find("PQtransactionStatus")
    serverVersion = try find("PQserverVersion")
    parameter = try find("PQparameterStatus")
    sendQuery = try find("PQsendQuery")
    sendQueryParams = try find("PQsendQueryParams")
    flush = try find("PQflush")
    consumeInput = try find("PQconsumeInput")
    isBusy = try find("PQisBusy")
    getResult = try find("PQgetResult")
    clear = try find("PQclear")
    resultStatus = try find("PQresultStatus")
    resultError = try find("PQresultErrorField")
    resultMessage = try find("PQresultErrorMessage")
    commandTag = try find("PQcmdStatus")
    commandTuples = try find("PQcmdTuples")
    rowCount = try find("PQntuples")
    columnCount = try find("PQnfields")
    columnName = try find("PQfname")
    columnType = try find("PQftype")
    value = try find("PQgetvalue")
    valueLength = try find("PQgetlength")
    isNull = try find("PQgetisnull")
    putCopyData = try find("PQputCopyData")
    putCopyEnd = try find("PQputCopyEnd")
    getCopyData = try find("PQgetCopyData")
  }

  /// A text of the library, joined to one line.
  static func line(_ text: Text?) -> String {
    guard let text else { return "" }
    return String(cString: text).split(whereSeparator: \.isNewline)
      .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }.joined(
        separator: "; ")
  }
}
