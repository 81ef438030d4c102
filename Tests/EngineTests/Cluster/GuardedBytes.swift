import Foundation

/// Bytes that end right before a guarded page: reading one byte too many ends the process. They are
/// released with the object, which optimized code releases after its last use: a function that reads
/// `bytes` through a copy of the pointer keeps the object with `withExtendedLifetime`.
final class GuardedBytes {
  private let mapping: UnsafeMutableRawPointer
  private let mappedLength: Int
  let bytes: UnsafeMutableRawBufferPointer

  init(_ content: some Collection<UInt8>) throws {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let usable = (content.count + page) / page * page
    mappedLength = usable + page
    let flags = MAP_PRIVATE | MAP_ANON
    guard let address = mmap(nil, mappedLength, PROT_READ | PROT_WRITE, flags, -1, 0),
      address != MAP_FAILED, mprotect(address + usable, page, PROT_NONE) == 0
    else { throw CocoaError(.fileReadUnknown) }
    mapping = address
    bytes = UnsafeMutableRawBufferPointer(
      start: address + (usable - content.count), count: content.count)
    bytes.copyBytes(from: content)
  }

  deinit { munmap(mapping, mappedLength) }

  var readOnly: UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes) }
}
