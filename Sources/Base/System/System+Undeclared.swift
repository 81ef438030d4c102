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

  /// Any system call, by its number. C declares it without the parameters, as Swift cannot call it; they are
  /// passed alike.
  @_silgen_name("syscall")
  func linuxSystemCall(
    _ number: Int, _ first: UInt, _ second: UInt, _ third: UInt, _ fourth: UInt, _ fifth: UInt,
    _ sixth: UInt
  ) -> Int
#else
  // Calls of macOS 14.4 that have a header, but are in no module.

  /// Sleeps while the bytes have the value; negative, with `errno`, when it fails or the time is over.
  @_silgen_name("os_sync_wait_on_address_with_timeout")
  func darwinWait(
    _ place: UnsafeMutableRawPointer?, _ value: UInt64, _ size: Int, _ flags: UInt32,
    _ clock: UInt32, _ nanoseconds: UInt64
  ) -> Int32

  @_silgen_name("os_sync_wake_by_address_all")
  func darwinWakeAll(_ place: UnsafeMutableRawPointer?, _ size: Int, _ flags: UInt32) -> Int32
#endif
