#if !canImport(Darwin)
  // C declarations of Linux calls that Swift's overlay of glibc leaves out.

  @_silgen_name("pipe2")
  func linuxPipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

  @_silgen_name("prctl")
  func linuxPrctl(
    _ option: Int32, _ second: UInt, _ third: UInt, _ fourth: UInt, _ fifth: UInt
  ) -> Int32

  @_silgen_name("renameat2")
  func linuxRenameat2(
    _ oldFolder: Int32, _ old: UnsafePointer<CChar>, _ newFolder: Int32,
    _ new: UnsafePointer<CChar>, _ flags: UInt32
  ) -> Int32

  /// The status, of 256 bytes, of the file at a path.
  @_silgen_name("statx")
  func linuxStatx(
    _ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mask: UInt32,
    _ status: UnsafeMutableRawPointer
  ) -> Int32

  @_silgen_name("fgetxattr")
  func linuxFgetxattr(
    _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?,
    _ size: Int
  ) -> Int

  @_silgen_name("fsetxattr")
  func linuxFsetxattr(
    _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ value: UnsafeRawPointer?, _ size: Int,
    _ flags: Int32
  ) -> Int32

  @_silgen_name("sync_file_range")
  func linuxSyncFileRange(
    _ descriptor: Int32, _ start: Int64, _ count: Int64, _ flags: UInt32
  ) -> Int32

  @_silgen_name("fremovexattr")
  func linuxFremovexattr(_ descriptor: Int32, _ name: UnsafePointer<CChar>) -> Int32
#endif
