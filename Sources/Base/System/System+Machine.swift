#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Facts about this machine, for reports of measurements.
extension System {
  /// Bytes of memory in the machine; nil when unknown.
  package static var memorySize: Int? {
    let pages = sysconf(Int32(_SC_PHYS_PAGES))
    let size = sysconf(Int32(_SC_PAGESIZE))
    guard pages > 0, size > 0 else { return nil }
    let (bytes, overflow) = Int(pages).multipliedReportingOverflow(by: Int(size))
    return overflow ? nil : bytes
  }

  /// The kernel's name and release, and the kind of processor, as `uname` reports them.
  package static var kernel: (name: String, release: String, architecture: String) {
    var raw = utsname()
    guard uname(&raw) == 0 else { return ("unknown", "", "") }
    func text<Field>(_ field: Field) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return (text(raw.sysname), text(raw.release), text(raw.machine))
  }

  /// The processor's name; nil when unknown.
  package static var processorName: String? {
    #if canImport(Darwin)
      var size = 0
      guard sysctlbyname("machdep.cpu.brand_string", nil, &size, nil, 0) == 0 else { return nil }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname("machdep.cpu.brand_string", &bytes, &size, nil, 0) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
      guard let text = try? textFile("/proc/cpuinfo") else { return nil }
      let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
      guard let line, let colon = line.firstIndex(of: ":") else { return nil }
      return String(line[line.index(after: colon)...].drop { $0 == " " })
    #endif
  }

  /// The distribution or system version in its usual form; nil when unknown.
  package static var systemName: String? {
    guard let text = try? textFile("/etc/os-release") else { return nil }
    let key = "PRETTY_NAME="
    let line = text.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.map { String($0.dropFirst(key.count).filter { $0 != "\"" }) }
  }

  /// The number of processes ready to run, on average over the last minute.
  package static var loadAverage: Double? {
    var loads = [0.0]
    return getloadavg(&loads, 1) == 1 ? loads[0] : nil
  }

  /// The kind of file system that holds a folder; nil when unknown.
  package static func fileSystem(at path: String) -> String? {
    #if canImport(Darwin)
      var raw = statfs()
      guard statfs(native(path), &raw) == 0 else { return nil }
      return withUnsafeBytes(of: raw.f_fstypename) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
    #else
      guard let status = try? status(path: path), let text = try? textFile("/proc/self/mountinfo")
      else { return nil }
      // Splits a device number as glibc's gnu_dev_major and gnu_dev_minor do.
      let number = status.device
      let major = (number >> 8) & 0xFFF | (number >> 32) & ~0xFFF
      let minor = number & 0xFF | (number >> 12) & ~0xFF
      let device = "\(major):\(minor)"
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count > 4, words[2] == device, let dash = words.firstIndex(of: "-"),
          dash + 1 < words.count
        else { continue }
        return String(words[dash + 1])
      }
      return nil
    #endif
  }

  /// A date and time of the calendar.
  package struct CalendarTime: Sendable {
    package let year, month, day, hour, minute, second: Int
  }

  /// The current time, local or UTC.
  package static func now(local: Bool) -> CalendarTime {
    var moment = time(nil)
    var fields = tm()
    if local { localtime_r(&moment, &fields) } else { gmtime_r(&moment, &fields) }
    return CalendarTime(
      year: Int(fields.tm_year) + 1900, month: Int(fields.tm_mon) + 1, day: Int(fields.tm_mday),
      hour: Int(fields.tm_hour), minute: Int(fields.tm_min), second: Int(fields.tm_sec))
  }
}
